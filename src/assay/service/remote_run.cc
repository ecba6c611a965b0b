#include "assay/service/remote_run.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "assay/base/quote.h"
#include "assay/dispute/claim.h"
#include "assay/merkle/tiles.h"
#include "assay/net/http_client.h"
#include "assay/run/commit_schedule.h"
#include "assay/service/shown_run.h"

namespace assay::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxReceipt = std::size_t{64} << 10;
constexpr std::size_t kMaxWhy = 200;  // characters of a server's explanation that are shown
constexpr std::size_t kLeafBytesOnWire = 8 + 32;
constexpr std::uint64_t kBytesPerSecond = std::uint64_t{1} << 20;  // what is waited for at least, beyond the patience
constexpr std::chrono::milliseconds kStopPoll{50};

std::size_t EntryBytes() {
  LogEntry entry;
  entry.rounding_root.emplace();
  return Encode(entry).size();
}

// Ends the calls of a client when the user asks for it.
class Watcher {
 public:
  Watcher(HttpClient& client, std::function<bool()> stop)
      : thread_([&client, stop = std::move(stop)](const std::stop_token& over) {
          while (!over.stop_requested()) {
            if (stop()) return client.Cancel();
            std::this_thread::sleep_for(kStopPoll);
          }
        }) {}

 private:
  std::jthread thread_;
};

class RemoteLogs : public RoundingSource {
 public:
  RemoteLogs(std::string url, std::unique_ptr<HttpClient> client, double patience_s)
      : url_(std::move(url)), client_(std::move(client)), patience_s_(patience_s) {}

  Result<Bytes> Receipt() { return Get("/v1/receipt", "its receipt", kMaxReceipt, DeadlineFor(kMaxReceipt)); }

  Result<std::vector<LogEntry>> Entries(std::uint64_t count) {
    std::vector<LogEntry> entries;
    const std::size_t entry_bytes = EntryBytes() + sizeof(std::uint16_t);
    for (std::uint64_t part = 0; part * ShownPaths::kEntries < count; ++part) {
      const std::uint64_t here = std::min(ShownPaths::kEntries, count - part * ShownPaths::kEntries);
      const std::string what = fmt::format("{}: part {} of its log", url_, part);
      ASSAY_ASSIGN(const Bytes bytes,
                   Get(ShownPaths::Log(part), "its log", here * entry_bytes, DeadlineFor(here * entry_bytes)));
      ASSAY_ASSIGN(const std::vector<Bytes> encoded, ParseBundle(bytes, here, what));
      for (const Bytes& entry : encoded) {
        ASSAY_ASSIGN(entries.emplace_back(), DecodeLogEntry(entry, what));
      }
    }
    return entries;
  }

  Result<std::vector<RoundingLeaf>> Leaves(std::int64_t entry, std::int64_t from, std::int64_t to) override {
    const auto count = static_cast<std::uint64_t>(to - from);
    const std::string what = count == 1 ? fmt::format("the rounding log of step {}", to)
                                        : fmt::format("the rounding logs of steps {} to {}", from + 1, to);
    const auto deadline = DeadlineFor(count * kLeafBytesOnWire);
    std::vector<RoundingLeaf> leaves;
    for (std::uint64_t part = 0; leaves.size() < count; ++part) {
      const std::uint64_t here = std::min(ShownPaths::kLeaves, count - leaves.size());
      ASSAY_ASSIGN(const Bytes bytes, Get(ShownPaths::Leaves(entry, part), what, here * kLeafBytesOnWire, deadline));
      if (bytes.size() != here * kLeafBytesOnWire)
        return Withheld(what, fmt::format("{} bytes where {} leaves were asked for", bytes.size(), here));
      for (std::size_t i = 0; i < here; ++i) {
        ASSAY_ASSIGN(leaves.emplace_back(),
                     DecodeRoundingLeaf(ByteSpan(bytes).subspan(i * kLeafBytesOnWire, kLeafBytesOnWire)));
      }
    }
    return leaves;
  }

  Result<Bytes> Read(std::int64_t step, std::uint64_t bytes) override {
    const std::string what = fmt::format("the rounding log of step {}", step);
    const auto deadline = DeadlineFor(bytes);
    Bytes log;
    for (std::uint64_t part = 0; log.size() < bytes; ++part) {
      const std::uint64_t here = std::min(ShownPaths::kPartBytes, bytes - log.size());
      ASSAY_ASSIGN(const Bytes got, Get(ShownPaths::RoundingLog(step, part), what, here, deadline));
      if (got.size() != here) return Withheld(what, fmt::format("{} bytes where {} were asked for", got.size(), here));
      log.insert(log.end(), got.begin(), got.end());
    }
    return log;
  }

  void StopWhen(std::function<bool()> stop) override { watcher_.emplace(*client_, std::move(stop)); }

 private:
  Clock::time_point DeadlineFor(std::uint64_t bytes) const {
    const double seconds = patience_s_ + static_cast<double>(bytes / kBytesPerSecond);
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  tl::unexpected<Error> Withheld(std::string_view what, std::string_view why) const {
    if (why.starts_with(url_)) why.remove_prefix(url_.size());  // said already
    return Err("{}: does not show {} ({}): it cannot be followed, and does not show what its receipt commits to", url_, what,
               why);
  }

  // At most `bytes` of what it is asked for. Whoever takes long is waited for until the deadline, and no attempt is made again before that.
  Result<Bytes> Get(const std::string& path, std::string_view what, std::uint64_t bytes, Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const auto ms = static_cast<int>(std::clamp<std::int64_t>(left, 1, std::numeric_limits<int>::max()));
    // An answer that says why there is none may be longer.
    auto response = client_->GetPatiently(path, ms, std::max<std::size_t>(bytes, 4096), ms);
    if (!response) return Withheld(what, response.error().message);
    if (response->status == 200) return std::move(response->body);
    std::string_view text(reinterpret_cast<const char*>(response->body.data()), response->body.size());
    while (text.ends_with('\n')) text.remove_suffix(1);
    std::string why = OneLine(text);
    why.resize(std::min(why.size(), kMaxWhy));
    return Withheld(what, fmt::format("status {}: {}", response->status, why));
  }

  std::string url_;
  std::unique_ptr<HttpClient> client_;
  double patience_s_;
  std::optional<Watcher> watcher_;  // goes before the client
};

}  // namespace

bool IsUrl(std::string_view text) { return text.starts_with("http://") || text.starts_with("https://"); }

Result<FollowedRun> OpenRemoteRun(const std::string& url, const PreparedJob& prepared, const RemoteOptions& options) {
  ClientOptions how;
  how.ca_file = options.ca_file;
  ASSAY_ASSIGN(auto client, HttpClient::Create(url, how));
  auto logs = std::make_unique<RemoteLogs>(url, std::move(client), options.patience_s);
  ASSAY_ASSIGN(const Bytes receipt, logs->Receipt());
  ASSAY_ASSIGN(const dispute::Claim claim, dispute::OpenClaim({reinterpret_cast<const char*>(receipt.data()), receipt.size()},
                                                              fmt::format("{}: receipt", url)));
  ASSAY_TRY(FollowedRun::CheckReceipt(url, claim.receipt, prepared));
  ASSAY_ASSIGN(std::vector<LogEntry> entries, logs->Entries(claim.receipt.log.size));
  return FollowedRun::Make(url, claim.receipt, std::move(entries), prepared, std::move(logs));
}

}  // namespace assay::service
