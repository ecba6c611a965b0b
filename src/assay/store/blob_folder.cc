#include "assay/store/blob_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "assay/base/file.h"

namespace assay::store {
namespace {

constexpr std::size_t kMostHashed = 256;  // uploads under way whose hash is kept in memory, each with an open file
constexpr std::size_t kWorthAside =
    64 << 10;  // bytes: writing and hashing take as long as each other, and fewer than waking a thread up
constexpr std::string_view kWhole = "whole";
constexpr std::string_view kPartial = "partial";

tl::unexpected<Error> Failed(const std::string& path, std::string_view doing) {
  return tl::unexpected(Error{fmt::format("{}: cannot {}: {}", path, doing, std::generic_category().message(errno)), true});
}

tl::unexpected<Error> Machine(Error error) {
  error.system = true;
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> Absent(const Digest& hash) { return Err("blob {}: does not exist", hash.hex()); }

std::int64_t ModifiedMs(const struct stat& info) {
  return std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

class FileReader final : public BlobReader {
 public:
  FileReader(Descriptor file, std::string name, std::uint64_t size)
      : file_(std::move(file)), name_(std::move(name)), size_(size) {}
  std::uint64_t size() const override { return size_; }
  int descriptor() const override { return file_.get(); }

  Status Read(std::uint64_t offset, std::span<std::uint8_t> out) const override {
    if (offset > size_ || out.size() > size_ - offset)
      return Err("{}: has {} bytes, asked for {} from {}", name_, size_, out.size(), offset);
    while (!out.empty()) {
      const ssize_t got = ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed(name_, "read");
      if (got == 0) return tl::unexpected(Error{fmt::format("{}: ends before its {} bytes", name_, size_), true});
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
    return {};
  }

 private:
  Descriptor file_;
  std::string name_;
  std::uint64_t size_;
};

}  // namespace

Result<std::unique_ptr<Blobs>> Blobs::Open(const std::string& folder, const BlobOptions& options) {
  for (const std::string_view part : {kWhole, kPartial}) {
    if (Status made = MakeDirectories(JoinPath(folder, part)); !made) return Machine(made.error());
  }
  return std::make_unique<BlobFolder>(folder, options);
}

BlobFolder::BlobFolder(std::string folder, BlobOptions options) : folder_(std::move(folder)), options_(std::move(options)) {}

std::string BlobFolder::WholePath(const Digest& hash) const {
  const std::string name = hash.hex();
  return fmt::format("{}/{}/{}/{}/{}", folder_, kWhole, name.substr(0, 2), name.substr(2, 2), name);
}

std::string BlobFolder::PartialPath(const Digest& hash, std::string_view owner) const {
  return fmt::format("{}/{}/{}-{}", folder_, kPartial, hash.hex(), HashBytes(AsBytes(owner)).hex().substr(0, 32));
}

Result<bool> BlobFolder::IsWhole(const Digest& hash, std::uint64_t* size) const {
  struct stat info{};
  const std::string path = WholePath(hash);
  if (::stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return false;
    return Failed(path, "look at it");
  }
  *size = static_cast<std::uint64_t>(info.st_size);
  return true;
}

Result<bool> BlobFolder::IsSpared(const Digest& hash, std::uint64_t* size) const {
  if (options_.each_sends) return false;
  return IsWhole(hash, size);
}

Result<bool> BlobFolder::Has(const Digest& hash) {
  std::uint64_t size = 0;
  return IsWhole(hash, &size);
}

Result<std::uint64_t> BlobFolder::Size(const Digest& hash) {
  std::uint64_t size = 0;
  ASSAY_ASSIGN(const bool whole, IsWhole(hash, &size));
  if (!whole) return Absent(hash);
  return size;
}

Result<std::unique_ptr<BlobReader>> BlobFolder::OpenForReading(const Digest& hash) {
  const std::string path = WholePath(hash);
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) return Absent(hash);
  struct stat info{};
  if (!file.open() || ::fstat(file.get(), &info) != 0) return Failed(path, "open");
  return std::make_unique<FileReader>(std::move(file), fmt::format("blob {}", hash.hex()),
                                      static_cast<std::uint64_t>(info.st_size));
}

Status BlobFolder::CheckRoom(std::string_view owner, std::uint64_t total, std::uint64_t growth) const {
  if (total > options_.max_blob_bytes)
    return Err("a blob of {} bytes is larger than the {} that are allowed", total, options_.max_blob_bytes);
  if (options_.quota) ASSAY_TRY(options_.quota(owner, total));
  std::uint64_t free = 0;
  if (options_.free_bytes) {
    ASSAY_ASSIGN(free, options_.free_bytes());
  } else {
    struct statvfs info{};
    if (::statvfs(folder_.c_str(), &info) != 0) return Failed(folder_, "tell the free space");
    free = std::uint64_t{info.f_bavail} * info.f_frsize;
  }
  if (free < options_.reserve_bytes || free - options_.reserve_bytes < growth) {
    return tl::unexpected(
        Error{fmt::format("{}: the disk is full: {} bytes are free, of which {} are kept in reserve, and {} are needed",
                          folder_, free, options_.reserve_bytes, growth),
              true});
  }
  return {};
}

Result<std::uint64_t> BlobFolder::Begun(const Digest& hash, std::string_view owner) {
  struct stat info{};
  const std::string path = PartialPath(hash, owner);
  if (::stat(path.c_str(), &info) == 0) return static_cast<std::uint64_t>(info.st_size);
  if (errno == ENOENT) return 0;
  return Failed(path, "look at it");
}

Result<std::uint64_t> BlobFolder::Begin(const Digest& hash, std::string_view owner, std::uint64_t size) {
  std::uint64_t whole_size = 0;
  ASSAY_ASSIGN(const bool whole, IsSpared(hash, &whole_size));
  if (whole && whole_size != size) return Err("blob {}: has {} bytes, not {}", hash.hex(), whole_size, size);
  if (whole) return size;
  ASSAY_ASSIGN(const std::uint64_t there, Begun(hash, owner));
  if (there > size) return Err("blob {}: {} bytes were sent already, more than {}", hash.hex(), there, size);
  ASSAY_TRY(CheckRoom(owner, size, size - there));
  return there;
}

Result<std::uint64_t> BlobFolder::Append(const Digest& hash, std::string_view owner, std::uint64_t offset, ByteSpan bytes) {
  if (offset > options_.max_blob_bytes)
    return Err("blob {}: offset {} is beyond the {} bytes that are allowed", hash.hex(), offset, options_.max_blob_bytes);
  const std::string path = PartialPath(hash, owner);
  std::uint64_t whole_size = 0;
  ASSAY_ASSIGN(bool whole, IsSpared(hash, &whole_size));
  if (whole) return whole_size;
  ASSAY_ASSIGN(auto opened, PartialFile::Open(path, offset == 0 ? PartialFile::Mode::kCreate : PartialFile::Mode::kExisting));
  const std::uint64_t there = opened ? opened->size() : 0;
  if (!opened || offset > there) {
    // Whoever held the file may have finished it, and somebody else begun another.
    ASSAY_ASSIGN(whole, IsSpared(hash, &whole_size));
    if (whole) return whole_size;
  }
  if (!opened || offset > there)
    return Err("blob {}: {} bytes are there, the next cannot begin at {}", hash.hex(), there, offset);
  const std::uint64_t known = std::min<std::uint64_t>(there - offset, bytes.size());
  if (Status same = opened->Compare(offset, bytes.first(known)); !same) {
    return tl::unexpected(Error{fmt::format("blob {}: {}", hash.hex(), same.error().message), same.error().system});
  }
  const ByteSpan fresh = bytes.subspan(known);
  if (fresh.empty()) return there;
  ASSAY_TRY(CheckRoom(owner, there + fresh.size(), fresh.size()));
  const std::shared_ptr<Hashed> hashed = HashedOf(path, *opened);
  Sha256 sum = hashed->hash;
  const bool follows = hashed->bytes == there;
  const auto write = [&] { return opened->Append(fresh); };
  if (!follows) {
    ASSAY_TRY(write());
  } else if (fresh.size() < kWorthAside) {
    ASSAY_TRY(write());
    sum.Update(fresh);
  } else {
    ASSAY_TRY(aside_.Run(write, [&] { sum.Update(fresh); }));
  }
  if (follows) {
    hashed->hash = sum;
    hashed->bytes = opened->size();
  }
  ASSAY_TRY(opened->SetModified(options_.clock->WallMs()));
  return opened->size();
}

std::shared_ptr<BlobFolder::Hashed> BlobFolder::HashedOf(const std::string& path, const PartialFile& file) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Hashed>& entry = hashed_[path];
  if (entry == nullptr || entry->file != file.id()) {
    entry = std::make_shared<Hashed>();
    entry->file = file.id();
    entry->pin = file.Reopen();
  }
  const std::shared_ptr<Hashed> found = entry;
  found->last_use = ++uses_;
  if (!found->pin.open()) {
    hashed_.erase(path);  // good for this call only: nothing would tell the file from a later one
  } else if (hashed_.size() > kMostHashed) {
    hashed_.erase(std::min_element(hashed_.begin(), hashed_.end(),
                                   [](const auto& a, const auto& b) { return a.second->last_use < b.second->last_use; }));
  }
  return found;
}

void BlobFolder::Forget(const std::string& path) {
  const std::lock_guard lock(mutex_);
  hashed_.erase(path);
}

// Another process may have finished or swept what this one began; a file that is held open here would keep its place on the disk.
void BlobFolder::ForgetGone() {
  const std::lock_guard lock(mutex_);
  std::erase_if(hashed_, [](const auto& entry) { return FileIdAt(entry.first) != entry.second->file; });
}

Result<Digest> BlobFolder::DigestOf(const std::string& path, const PartialFile& file) {
  const std::shared_ptr<Hashed> hashed = HashedOf(path, file);
  if (hashed->bytes > file.size()) return Err("{}: became shorter", path);
  ASSAY_TRY(file.HashFrom(hashed->bytes, hashed->hash));
  hashed->bytes = file.size();
  Sha256 ended = hashed->hash;
  return ended.Finish();
}

// After this the name of the blob is there after a power cut, whoever gave it to the file.
Status BlobFolder::SyncWhole(const Digest& hash) const {
  const std::string name = hash.hex();
  const std::string top = JoinPath(folder_, kWhole);
  const std::string first = JoinPath(top, name.substr(0, 2));
  for (const std::string& directory : {JoinPath(first, name.substr(2, 2)), first, top}) {
    if (Status synced = SyncDirectory(directory); !synced) return Machine(synced.error());
  }
  return {};
}

Status BlobFolder::Finish(const Digest& hash, std::string_view owner) {
  const std::string path = PartialPath(hash, owner);
  ASSAY_ASSIGN(auto file, PartialFile::Open(path, PartialFile::Mode::kExisting));
  // After waiting for the file, since whoever held it may have finished it.
  const auto drop = [&]() -> Status {
    Forget(path);
    if (file) ASSAY_TRY(file->Remove());
    return SyncWhole(hash);
  };
  if (!options_.each_sends) {
    ASSAY_ASSIGN(const bool whole, Renew(hash));
    if (whole) return drop();
  }
  if (!file) return Err("blob {}: there is no upload to finish", hash.hex());
  ASSAY_ASSIGN(const Digest digest, DigestOf(path, *file));
  if (digest != hash) {
    Forget(path);
    ASSAY_TRY(file->Remove());
    return Err("blob {}: the {} bytes that were sent have the hash {}", hash.hex(), file->size(), digest.hex());
  }
  ASSAY_ASSIGN(const bool whole, Renew(hash));
  if (whole) return drop();
  ASSAY_TRY(file->SetModified(options_.clock->WallMs()));
  if (Status synced = file->Sync(); !synced) {
    // What the system failed to write it takes for written from then on: a second sync would say nothing.
    Forget(path);
    ASSAY_TRY(file->Remove());
    return synced;
  }
  const std::string target = WholePath(hash);
  if (Status made = MakeDirectories(target.substr(0, target.find_last_of('/'))); !made) return Machine(made.error());
  if (::rename(path.c_str(), target.c_str()) != 0) return Failed(path, "rename");
  Forget(path);
  return SyncWhole(hash);
}

Status BlobFolder::Abandon(const Digest& hash, std::string_view owner) {
  const std::string path = PartialPath(hash, owner);
  ASSAY_ASSIGN(auto file, PartialFile::Open(path, PartialFile::Mode::kExisting));
  Forget(path);
  if (!file) return {};
  return file->Remove();
}

Result<bool> BlobFolder::SweepOne(const std::string& path, std::int64_t age_ms) {
  ASSAY_ASSIGN(auto file, PartialFile::Open(path, PartialFile::Mode::kExistingUnlessHeld));
  if (!file) return false;
  const std::int64_t now_ms = options_.clock->WallMs();
  // Touched by a clock that was wrong: its age counts from here.
  if (file->modified_ms() > now_ms + age_ms) ASSAY_TRY(file->SetModified(now_ms));
  if (now_ms - file->modified_ms() < age_ms) return false;
  ASSAY_TRY(file->Remove());
  return true;
}

Result<std::int64_t> BlobFolder::Sweep(std::int64_t age_ms) {
  const std::string folder = JoinPath(folder_, kPartial);
  ASSAY_ASSIGN(const auto names, ListDirectory(folder));
  std::int64_t swept = 0;
  for (const std::string& name : names) {
    ASSAY_ASSIGN(const bool gone, SweepOne(JoinPath(folder, name), age_ms));
    if (gone) ++swept;
  }
  ForgetGone();
  return swept;
}

Result<std::vector<BlobInfo>> BlobFolder::List(std::uint8_t first) {
  std::vector<BlobInfo> found;
  const std::string top = fmt::format("{}/{}/{:02x}", folder_, kWhole, first);
  if (!IsDirectory(top)) return found;
  ASSAY_ASSIGN(const auto folders, ListDirectory(top));
  for (const std::string& folder : folders) {
    ASSAY_ASSIGN(const auto names, ListDirectory(JoinPath(top, folder)));
    for (const std::string& name : names) {
      const Result<Digest> hash = Digest::FromHex(name);
      struct stat info{};
      if (!hash || ::stat(WholePath(*hash).c_str(), &info) != 0) continue;  // not a blob, or removed meanwhile
      found.push_back({*hash, static_cast<std::uint64_t>(info.st_size), ModifiedMs(info)});
    }
  }
  return found;
}

// A whole blob, locked against being removed (shared) or against being taken for one that stays (not shared); nothing where there is none.
Result<std::optional<Descriptor>> BlobFolder::LockWhole(const Digest& hash, bool shared) const {
  const std::string path = WholePath(hash);
  for (;;) {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.open() && errno == ENOENT) return std::nullopt;
    if (!file.open()) return Failed(path, "open");
    while (::flock(file.get(), shared ? LOCK_SH : LOCK_EX) != 0) {
      if (errno != EINTR) return Failed(path, "lock");
    }
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return Failed(path, "look at it");
    // Whoever had it before may have removed it.
    const FileId id{static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
    if (FileIdAt(path) == id) return file;
  }
}

Result<bool> BlobFolder::Renew(const Digest& hash) {
  ASSAY_ASSIGN(const auto file, LockWhole(hash, true));
  if (!file) return false;
  const std::int64_t now_ms = options_.clock->WallMs();
  const timespec at{now_ms / 1000, now_ms % 1000 * 1'000'000};
  const timespec times[2] = {at, at};
  if (::futimens(file->get(), times) != 0) return Failed(WholePath(hash), "set the time");
  return true;
}

Result<bool> BlobFolder::RemoveIf(const Digest& hash, std::int64_t before_ms, const std::function<Result<bool>()>& confirm) {
  ASSAY_ASSIGN(const auto file, LockWhole(hash, false));
  if (!file) return false;
  const std::string path = WholePath(hash);
  struct stat info{};
  if (::fstat(file->get(), &info) != 0) return Failed(path, "look at it");
  if (ModifiedMs(info) > before_ms) return false;
  ASSAY_ASSIGN(const bool agreed, confirm());
  if (!agreed) return false;
  if (::unlink(path.c_str()) != 0) return Failed(path, "remove");
  if (Status synced = SyncDirectory(path.substr(0, path.find_last_of('/'))); !synced) return Machine(synced.error());
  return true;
}

}  // namespace assay::store
