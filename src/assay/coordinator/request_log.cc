#include "assay/coordinator/request_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

namespace assay::coordinator {
namespace {

std::int64_t WallMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nobody could be told
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::string Redacted(std::string_view text) {
  constexpr std::string_view kToken = "assay_";
  std::string clean;
  for (std::size_t at = text.find(kToken); at != std::string_view::npos; at = text.find(kToken)) {
    clean += std::string(text.substr(0, at + kToken.size())) + "...";
    text.remove_prefix(at + kToken.size());
    text.remove_prefix(std::min(text.find_first_not_of("0123456789abcdefABCDEF"), text.size()));
  }
  return clean + std::string(text);
}

std::string LoggedPath(std::string_view target) {
  std::string path = Redacted(target.substr(0, target.find('?')));
  if (path.size() > 256) path = path.substr(0, 256) + "...";
  return path;
}

Result<std::unique_ptr<RequestLog>> RequestLog::Open(const std::string& path) {
  if (path.empty()) return std::unique_ptr<RequestLog>(new RequestLog(STDERR_FILENO, false));
  if (path == "-") return std::unique_ptr<RequestLog>(new RequestLog(-1, false));
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
  if (descriptor < 0) return Err("{}: cannot be written: {}", path, std::generic_category().message(errno));
  return std::unique_ptr<RequestLog>(new RequestLog(descriptor, true));
}

RequestLog::RequestLog(int descriptor, bool owned) : descriptor_(descriptor), owned_(owned) {
  if (descriptor_ >= 0) thread_ = std::thread([this] { Run(); });
}

RequestLog::~RequestLog() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  if (owned_) ::close(descriptor_);
}

void RequestLog::Write(const Json& line) {
  if (descriptor_ < 0) return;
  Json dated = {{"at", WallMs()}};
  dated.update(line);
  std::string text = Compact(dated) + "\n";
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) {
      ++left_out_;
      return;
    }
    waiting_.push_back(std::move(text));
  }
  changed_.notify_one();
}

void RequestLog::Event(std::string_view name, std::string_view what) { Write({{"event", name}, {"error", what}}); }

void RequestLog::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (waiting_.empty() && ending_) return;
    std::deque<std::string> lines = std::exchange(waiting_, {});
    const std::uint64_t left_out = std::exchange(left_out_, 0);
    lock.unlock();
    std::string text;
    for (const std::string& line : lines) text += line;
    if (left_out > 0) text += Compact({{"at", WallMs()}, {"event", "lines left out"}, {"count", left_out}}) + "\n";
    WriteAll(descriptor_, text);
    lock.lock();
  }
}

}  // namespace assay::coordinator
