// A library to preload (LD_PRELOAD) that stands between a process and its files below one directory. It counts the calls that open,
// change or sync such files and can make one fail, or all from one on, cut a write short, or kill the process; and it can record
// what was done.
//
//   ASSAY_IO_ROOT    the directory, absolute
//   ASSAY_IO_FAULT   CALL:WHAT[:on]  the call with this number, from 1; WHAT is EIO, ENOSPC, short (half of a write is done) or
//                    kill; `on`: and all that follow it
//   ASSAY_IO_REPORT  a file to which a line "NUMBER NAME PATH" is appended for each call
//   ASSAY_IO_RECORD  a file to which what was done is appended (operations.h)
//
// Errors of its own end the process with status 99: a test that does not see what it thinks it sees must not pass.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "storage/operations.h"

namespace {

using assay::storage::Kind;

[[noreturn]] void Give(const char* why) {
  fprintf(stderr, "interpose: %s\n", why);
  _exit(99);
}

template <class F>
F* Real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) Give(name);
  return reinterpret_cast<F*>(found);
}

int RealOpen(const char* path, int flags, mode_t mode = 0) {
  static auto* const real = Real<int(const char*, int, ...)>("open");
  return real(path, flags, mode);
}

void WriteWhole(int descriptor, std::string_view bytes) {
  static auto* const real = Real<ssize_t(int, const void*, size_t)>("write");
  while (!bytes.empty()) {
    const ssize_t done = real(descriptor, bytes.data(), bytes.size());
    if (done <= 0) Give("cannot write what was seen");
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

enum class Effect { kNone, kFail, kShort, kKill };

class Watch {
 public:
  Watch() {
    const char* root = getenv("ASSAY_IO_ROOT");
    root_ = root == nullptr ? "" : root;
    if (const char* fault = getenv("ASSAY_IO_FAULT")) ParseFault(fault);
    if (const char* path = getenv("ASSAY_IO_REPORT")) report_ = OpenOutput(path);
    if (const char* path = getenv("ASSAY_IO_RECORD")) record_ = OpenOutput(path);
    Record(Kind::kStart, 0, 0, "", "");
  }

  bool Watches(std::string_view path) const {
    return !root_.empty() && path.starts_with(root_) && (path.size() == root_.size() || path[root_.size()] == '/');
  }
  // Empty when the descriptor is not watched.
  const std::string& PathOf(int descriptor) const {
    static const std::string none;
    const auto found = open_.find(descriptor);
    return found == open_.end() ? none : found->second.path;
  }
  uint32_t HandleOf(int descriptor) const { return open_.at(descriptor).handle; }
  void Opened(int descriptor, const std::string& path) {
    open_[descriptor] = {path, ++handles_};
    Record(Kind::kOpen, handles_, 0, path, "");
  }
  void Closed(int descriptor) { open_.erase(descriptor); }

  // Counts a call; what is to happen to it. errno is set where it is to fail.
  Effect Count(const char* name, const std::string& path) {
    ++calls_;
    if (report_ >= 0) WriteWhole(report_, std::to_string(calls_) + " " + name + " " + path + "\n");
    if (calls_ != fault_call_ && !(fault_stays_ && calls_ > fault_call_)) return Effect::kNone;
    if (effect_ == Effect::kKill) raise(SIGKILL);
    errno = fault_errno_;
    return effect_;
  }

  void Record(Kind kind, uint32_t handle, uint64_t offset, std::string_view first, std::string_view second) {
    if (record_ < 0) return;
    std::string bytes(1, static_cast<char>(kind));
    const auto number = [&](const auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
    number(handle);
    number(offset);
    for (const std::string_view text : {first, second}) {
      number(static_cast<uint32_t>(text.size()));
      bytes.append(text);
    }
    WriteWhole(record_, bytes);
  }

  std::recursive_mutex mutex;

 private:
  struct Open {
    std::string path;
    uint32_t handle = 0;
  };

  static int OpenOutput(const char* path) {
    const int descriptor = RealOpen(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor < 0) Give("cannot open an output");
    return descriptor;
  }

  void ParseFault(const std::string& text) {
    const size_t colon = text.find(':');
    if (colon == std::string::npos) Give("ASSAY_IO_FAULT: expected CALL:WHAT");
    fault_call_ = strtoull(text.c_str(), nullptr, 10);
    std::string what = text.substr(colon + 1);
    if (fault_stays_ = what.ends_with(":on"); fault_stays_) what.resize(what.size() - 3);
    effect_ = what == "short" ? Effect::kShort : what == "kill" ? Effect::kKill : Effect::kFail;
    fault_errno_ = what == "EIO" ? EIO : what == "ENOSPC" ? ENOSPC : 0;
    if (effect_ == Effect::kFail && fault_errno_ == 0) Give("ASSAY_IO_FAULT: expected EIO, ENOSPC, short or kill");
  }

  std::string root_;
  uint64_t calls_ = 0, fault_call_ = 0;
  bool fault_stays_ = false;
  Effect effect_ = Effect::kNone;
  int fault_errno_ = 0;
  int report_ = -1, record_ = -1;
  uint32_t handles_ = 0;
  std::map<int, Open> open_;
};

// Never destroyed: calls go on while a process ends.
Watch& TheWatch() {
  static Watch* const watch = new Watch;
  return *watch;
}

std::string Absolute(int directory, const char* path) {
  if (path[0] == '/') return path;
  if (directory != AT_FDCWD) return "";  // nobody here names files in that way
  char* here = getcwd(nullptr, 0);
  const std::string whole = std::string(here == nullptr ? "" : here) + "/" + path;
  free(here);
  return whole;
}

int OpenAt(int directory, const char* path, int flags, mode_t mode) {
  Watch& watch = TheWatch();
  const std::lock_guard lock(watch.mutex);
  const std::string whole = Absolute(directory, path);
  static auto* const real = Real<int(int, const char*, int, ...)>("openat");
  if (!watch.Watches(whole)) return real(directory, path, flags, mode);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
  const char* name = writes ? "open" : (flags & O_DIRECTORY) != 0 ? "opendir" : "openread";
  if (watch.Count(name, whole) == Effect::kFail) return -1;
  const bool existed = access(whole.c_str(), F_OK) == 0;
  const int descriptor = real(directory, path, flags, mode);
  if (descriptor < 0) return descriptor;
  if (!existed) watch.Record(Kind::kCreate, 0, 0, whole, "");
  watch.Opened(descriptor, whole);
  if (existed && (flags & O_TRUNC) != 0) watch.Record(Kind::kTruncate, watch.HandleOf(descriptor), 0, "", "");
  return descriptor;
}

mode_t ModeOf(int flags, va_list arguments) { return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0; }

// A call on a descriptor that is not a write.
template <class Call>
int OnDescriptor(const char* name, int descriptor, Kind kind, uint64_t offset, const Call& call) {
  Watch& watch = TheWatch();
  const std::lock_guard lock(watch.mutex);
  const std::string path = watch.PathOf(descriptor);
  if (path.empty()) return call();
  if (watch.Count(name, path) == Effect::kFail) return -1;
  const int result = call();
  if (result == 0) watch.Record(kind, watch.HandleOf(descriptor), offset, "", "");
  return result;
}

// A call on one or two paths.
template <class Call>
int OnPaths(const char* name, const std::string& first, const std::string& second, Kind kind, const Call& call) {
  Watch& watch = TheWatch();
  const std::lock_guard lock(watch.mutex);
  if (!watch.Watches(first) && !watch.Watches(second)) return call();
  if (watch.Count(name, second.empty() ? first : second) == Effect::kFail) return -1;
  const int result = call();
  if (result == 0) watch.Record(kind, 0, 0, first, second);
  return result;
}

template <class Call>
ssize_t OnWrite(int descriptor, const void* data, size_t size, int64_t at, const Call& call) {
  Watch& watch = TheWatch();
  const std::lock_guard lock(watch.mutex);
  const std::string path = watch.PathOf(descriptor);
  if (path.empty()) return call(size);
  const Effect effect = watch.Count("write", path);
  if (effect == Effect::kFail) return -1;
  const ssize_t done = call(effect == Effect::kShort ? (size + 1) / 2 : size);
  if (done <= 0) return done;
  // Also right for files that are appended to: the position is then behind what was written.
  const int64_t offset = at >= 0 ? at : lseek(descriptor, 0, SEEK_CUR) - done;
  watch.Record(Kind::kWrite, watch.HandleOf(descriptor), static_cast<uint64_t>(offset), "",
               {static_cast<const char*>(data), static_cast<size_t>(done)});
  return done;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenAt(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  return OpenAt(directory, path, flags, mode);
}
int creat(const char* path, mode_t mode) { return OpenAt(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

int close(int descriptor) {
  static auto* const real = Real<int(int)>("close");
  {
    Watch& watch = TheWatch();
    const std::lock_guard lock(watch.mutex);
    watch.Closed(descriptor);
  }
  return real(descriptor);
}

ssize_t write(int descriptor, const void* data, size_t size) {
  static auto* const real = Real<ssize_t(int, const void*, size_t)>("write");
  return OnWrite(descriptor, data, size, -1, [&](size_t n) { return real(descriptor, data, n); });
}
ssize_t pwrite(int descriptor, const void* data, size_t size, off_t at) {
  static auto* const real = Real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return OnWrite(descriptor, data, size, at, [&](size_t n) { return real(descriptor, data, n, at); });
}

int fsync(int descriptor) {
  static auto* const real = Real<int(int)>("fsync");
  return OnDescriptor("fsync", descriptor, Kind::kSync, 0, [&] { return real(descriptor); });
}
int fdatasync(int descriptor) {
  static auto* const real = Real<int(int)>("fdatasync");
  return OnDescriptor("fdatasync", descriptor, Kind::kSync, 0, [&] { return real(descriptor); });
}
int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const real = Real<int(int, off_t)>("ftruncate");
  return OnDescriptor("ftruncate", descriptor, Kind::kTruncate, static_cast<uint64_t>(size),
                      [&] { return real(descriptor, size); });
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = Real<int(const char*, const char*)>("rename");
  return OnPaths("rename", Absolute(AT_FDCWD, from), Absolute(AT_FDCWD, to), Kind::kRename, [&] { return real(from, to); });
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  static auto* const real = Real<int(int, const char*, int, const char*)>("renameat");
  return OnPaths("rename", Absolute(from_directory, from), Absolute(to_directory, to), Kind::kRename,
                 [&] { return real(from_directory, from, to_directory, to); });
}
int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  static auto* const real = Real<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return OnPaths("rename", Absolute(from_directory, from), Absolute(to_directory, to), Kind::kRename,
                 [&] { return real(from_directory, from, to_directory, to, flags); });
}
int link(const char* from, const char* to) noexcept {
  static auto* const real = Real<int(const char*, const char*)>("link");
  return OnPaths("link", Absolute(AT_FDCWD, from), Absolute(AT_FDCWD, to), Kind::kLink, [&] { return real(from, to); });
}
int unlink(const char* path) noexcept {
  static auto* const real = Real<int(const char*)>("unlink");
  return OnPaths("unlink", Absolute(AT_FDCWD, path), "", Kind::kUnlink, [&] { return real(path); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = Real<int(const char*, mode_t)>("mkdir");
  return OnPaths("mkdir", Absolute(AT_FDCWD, path), "", Kind::kMkdir, [&] { return real(path, mode); });
}

}  // extern "C"
