#include "assay/run/rounding_logs.h"

#include <charconv>
#include <utility>

#include "assay/base/check.h"
#include "assay/base/file.h"

namespace assay {
namespace {

constexpr std::string_view kTag = "assay/rounding-steps/1";
constexpr std::string_view kPrefix = "steps-", kSuffix = ".bin";
constexpr std::size_t kDigits = 10;
constexpr std::uint64_t kMaxBundleBytes = std::uint64_t{1} << 32;

std::optional<std::int64_t> NumberIn(std::string_view digits) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 1) return std::nullopt;
  return number;
}

// Up to the first step's log; how many steps there are.
Result<std::uint32_t> ReadHead(ByteReader& in, const std::string& path, const RoundingLogs::Steps& steps) {
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: expected rounding logs ({})", path, kTag);
  ASSAY_ASSIGN(const std::int64_t first, in.I64());
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (first != steps.first || count != static_cast<std::uint64_t>(steps.last - steps.first) + 1) {
    return Err("{}: holds {} steps from {} on, its name says otherwise", path, count, first);
  }
  return count;
}

}  // namespace

std::optional<RoundingLogs::Steps> RoundingLogs::StepsIn(std::string_view name) {
  if (name.size() != kPrefix.size() + 2 * kDigits + 1 + kSuffix.size()) return std::nullopt;
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix) || name[kPrefix.size() + kDigits] != '-') return std::nullopt;
  const auto first = NumberIn(name.substr(kPrefix.size(), kDigits));
  const auto last = NumberIn(name.substr(kPrefix.size() + kDigits + 1, kDigits));
  if (!first || !last || *last < *first) return std::nullopt;
  return Steps{*first, *last};
}

std::string RoundingLogs::PathOf(const Steps& steps) const {
  return JoinPath(directory_, fmt::format("{}{:010}-{:010}{}", kPrefix, steps.first, steps.last, kSuffix));
}

Result<RoundingLogs> RoundingLogs::Open(const std::string& directory) {
  RoundingLogs logs(directory);
  if (!IsDirectory(directory)) return logs;
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    if (const auto steps = StepsIn(name)) logs.bundles_[steps->first] = *steps;
  }
  return logs;
}

void RoundingLogs::Add(std::int64_t step, Bytes log) {
  ASSAY_CHECK(pending_.empty() || pending_.rbegin()->first + 1 == step);
  pending_bytes_ += log.size();
  pending_.emplace(step, std::move(log));
}

Status RoundingLogs::Write() {
  if (pending_.empty()) return {};
  ASSAY_TRY(WriteBundle(pending_));
  pending_.clear();
  pending_bytes_ = 0;
  return {};
}

Status RoundingLogs::WriteBundle(const std::map<std::int64_t, Bytes>& logs) {
  ASSAY_TRY(MakeDirectories(directory_));
  const Steps steps{logs.begin()->first, logs.rbegin()->first};
  const auto body = [&](FileSink& sink) -> Status {
    ByteWriter head;
    head.String(kTag);
    head.I64(steps.first);
    head.U32(static_cast<std::uint32_t>(logs.size()));
    ASSAY_TRY(sink.Write(head.bytes()));
    for (const auto& [step, log] : logs) {
      ByteWriter size;
      size.U32(static_cast<std::uint32_t>(log.size()));
      ASSAY_TRY(sink.Write(size.bytes()));
      ASSAY_TRY(sink.Write(log));
    }
    return {};
  };
  ASSAY_TRY(WriteFileAtomic(PathOf(steps), body));
  bundles_[steps.first] = steps;
  return {};
}

Result<std::vector<std::uint64_t>> RoundingLogs::PlacesIn(const std::string& path, const Steps& steps) {
  ASSAY_ASSIGN(const MappedFile file, MappedFile::Open(path));
  ByteReader in(file.bytes(), path);
  ASSAY_ASSIGN(const std::uint32_t count, ReadHead(in, path, steps));
  std::vector<std::uint64_t> places;
  for (std::uint32_t i = 0; i < count; ++i) {
    places.push_back(file.bytes().size() - in.remaining());
    ASSAY_ASSIGN(const std::uint32_t size, in.U32());
    ASSAY_TRY(in.Raw(size));
  }
  ASSAY_TRY(in.End());
  places.push_back(file.bytes().size());
  return places;
}

Result<std::map<std::int64_t, Bytes>> RoundingLogs::ReadBundle(const Steps& steps) const {
  const std::string path = PathOf(steps);
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxBundleBytes));
  ByteReader in(bytes, path);
  ASSAY_TRY(ReadHead(in, path, steps));
  std::map<std::int64_t, Bytes> logs;
  for (std::int64_t step = steps.first; step <= steps.last; ++step) {
    ASSAY_ASSIGN(const std::uint32_t size, in.U32());
    ASSAY_ASSIGN(const ByteSpan log, in.Raw(size));
    logs.emplace_hint(logs.end(), step, Bytes(log.begin(), log.end()));
  }
  ASSAY_TRY(in.End());
  return logs;
}

Result<Bytes> RoundingLogs::Read(std::int64_t step) {
  if (const auto found = pending_.find(step); found != pending_.end()) return found->second;
  if (const auto found = read_.find(step); found != read_.end()) return found->second;
  const auto after = bundles_.upper_bound(step);
  if (after == bundles_.begin() || std::prev(after)->second.last < step) {
    return Err("{}: has no rounding log of step {}", directory_, step);
  }
  ASSAY_ASSIGN(read_, ReadBundle(std::prev(after)->second));
  return read_.at(step);
}

Result<std::vector<RoundingLeaf>> RoundingLogs::Leaves(std::int64_t from, std::int64_t to) {
  std::vector<RoundingLeaf> leaves;
  for (std::int64_t step = from + 1; step <= to; ++step) {
    ASSAY_ASSIGN(const Bytes log, Read(step));
    leaves.push_back(RoundingLeafOf(log));
  }
  return leaves;
}

Status RoundingLogs::RemoveAfter(std::int64_t step) {
  pending_.erase(pending_.upper_bound(step), pending_.end());
  read_.clear();
  for (auto at = bundles_.begin(); at != bundles_.end();) {
    const Steps steps = at->second;
    if (steps.last <= step) {
      ++at;
      continue;
    }
    at = bundles_.erase(at);
    if (steps.first <= step) {
      ASSAY_ASSIGN(auto logs, ReadBundle(steps));
      logs.erase(logs.upper_bound(step), logs.end());
      ASSAY_TRY(WriteBundle(logs));
    }
    ASSAY_TRY(RemoveFileDurably(PathOf(steps)));
  }
  return {};
}

}  // namespace assay
