#include "assay/service/shown_run.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "assay/merkle/tiles.h"

namespace assay::service {
namespace {

constexpr std::string_view kLogPath = "/v1/log/", kLeavesPath = "/v1/roundings/", kRoundingLogPath = "/v1/rounding-log/";
// How many numbers follow.
constexpr std::size_t kLogNumbers = 1, kLeavesNumbers = 2, kRoundingLogNumbers = 2;

// The numbers of a path, if it consists of them.
std::optional<std::vector<std::uint64_t>> NumbersIn(std::string_view path, std::size_t count) {
  std::vector<std::uint64_t> numbers;
  const char* at = path.data();
  const char* const end = at + path.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && (at == end || *at++ != '/')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(numbers) : std::nullopt;
}

// What strangers are not told.
HttpResponse Failed(const Error& error) {
  fmt::print(stderr, "assay: {}\n", error.message);
  return TextResponse(503, "this machine failed; ask again");
}

}  // namespace

std::string ShownPaths::Log(std::uint64_t part) { return fmt::format("{}{}", kLogPath, part); }
std::string ShownPaths::Leaves(std::int64_t entry, std::uint64_t part) {
  return fmt::format("{}{}/{}", kLeavesPath, entry, part);
}
std::string ShownPaths::RoundingLog(std::int64_t step, std::uint64_t part) {
  return fmt::format("{}{}/{}", kRoundingLogPath, step, part);
}

Result<std::unique_ptr<ShownRun>> ShownRun::Open(const std::string& rounding_path, const RunLog& log) {
  ASSAY_ASSIGN(RoundingShelf shelf, RoundingShelf::Open(rounding_path));
  return std::unique_ptr<ShownRun>(new ShownRun(std::move(shelf), log));
}

std::optional<HttpResponse> ShownRun::Respond(const HttpRequest& request) {
  const std::string_view target = request.target;
  const auto asked = [&](std::string_view prefix) { return target.starts_with(prefix); };
  if (!asked(kLogPath) && !asked(kLeavesPath) && !asked(kRoundingLogPath)) return std::nullopt;
  if (request.method != "GET") return TextResponse(405, "expected GET");
  if (asked(kLogPath)) {
    if (const auto numbers = NumbersIn(target.substr(kLogPath.size()), kLogNumbers)) return LogPart((*numbers)[0]);
  } else if (asked(kLeavesPath)) {
    if (const auto numbers = NumbersIn(target.substr(kLeavesPath.size()), kLeavesNumbers)) {
      return LeavesPart((*numbers)[0], (*numbers)[1]);
    }
  } else if (const auto numbers = NumbersIn(target.substr(kRoundingLogPath.size()), kRoundingLogNumbers)) {
    return RoundingPart((*numbers)[0], (*numbers)[1]);
  }
  return TextResponse(404, "expected numbers: /v1/log/PART, /v1/roundings/ENTRY/PART or /v1/rounding-log/STEP/PART");
}

HttpResponse ShownRun::LogPart(std::uint64_t part) const {
  const std::vector<LogEntry>& entries = log_.entries();
  const std::uint64_t most = (entries.size() + ShownPaths::kEntries - 1) / ShownPaths::kEntries;
  if (part >= most) return TextResponse(404, fmt::format("the log has {} parts", most));
  std::vector<Bytes> encoded;
  const std::uint64_t begin = part * ShownPaths::kEntries;
  for (std::uint64_t i = begin; i < std::min<std::uint64_t>(begin + ShownPaths::kEntries, entries.size()); ++i) {
    encoded.push_back(Encode(entries[i]));
  }
  return {.status = 200, .body = EncodeBundle(encoded)};
}

// Each log is read and hashed once, whoever asks.
Result<RoundingLeaf> ShownRun::Leaf(std::int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = leaves_.find(step); found != leaves_.end()) return found->second;
  }
  ASSAY_ASSIGN(const RoundingLeaf leaf, shelf_.Leaf(step));
  const std::lock_guard lock(mutex_);
  leaves_.emplace(step, leaf);
  return leaf;
}

// A copy that has gone bad is not shown.
HttpResponse ShownRun::LeavesPart(std::uint64_t entry, std::uint64_t part) {
  const std::vector<LogEntry>& entries = log_.entries();
  if (entry == 0 || entry >= entries.size()) return TextResponse(404, "no such entry");
  std::vector<RoundingLeaf> leaves;
  for (std::int64_t step = entries[entry - 1].step + 1; step <= entries[entry].step; ++step) {
    const auto leaf = Leaf(step);
    if (!leaf) return Failed(leaf.error());
    leaves.push_back(*leaf);
  }
  if (part >= (leaves.size() + ShownPaths::kLeaves - 1) / ShownPaths::kLeaves) return TextResponse(404, "no such part");
  if (RoundingRootOfSteps(leaves) != entries[entry].rounding_root) {
    return Failed(
        {fmt::format("the rounding logs of entry {} are not those that the log commits to: this copy is damaged", entry)});
  }
  Bytes encoded;
  const std::size_t begin = part * ShownPaths::kLeaves, end = std::min<std::size_t>(begin + ShownPaths::kLeaves, leaves.size());
  for (std::size_t i = begin; i < end; ++i) {
    const Bytes bytes = Encode(leaves[i]);
    encoded.insert(encoded.end(), bytes.begin(), bytes.end());
  }
  return {.status = 200, .body = std::move(encoded)};
}

HttpResponse ShownRun::RoundingPart(std::uint64_t step, std::uint64_t part) const {
  const std::int64_t steps = log_.entries().back().step;
  if (step < 1 || step > static_cast<std::uint64_t>(steps)) return TextResponse(404, "no such step");
  const auto size = shelf_.Size(static_cast<std::int64_t>(step));
  if (!size) return Failed(size.error());
  if (part > 0 && part >= (*size + ShownPaths::kPartBytes - 1) / ShownPaths::kPartBytes)
    return TextResponse(404, "no such part");
  auto bytes = shelf_.Read(static_cast<std::int64_t>(step), part * ShownPaths::kPartBytes, ShownPaths::kPartBytes);
  if (!bytes) return Failed(bytes.error());
  return {.status = 200, .body = std::move(*bytes)};
}

}  // namespace assay::service
