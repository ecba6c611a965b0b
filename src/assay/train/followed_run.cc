#include "assay/train/followed_run.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "assay/exec/step_nodes.h"
#include "assay/merkle/tree.h"
#include "assay/rounding/decision_segment.h"
#include "assay/rounding/log_header.h"
#include "assay/rounding/paper_log.h"
#include "assay/run/directory.h"
#include "assay/run/entry_rules.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

class LogsOnDisk : public RoundingSource {
 public:
  explicit LogsOnDisk(RoundingLogs logs) : logs_(std::move(logs)) {}
  Result<std::vector<RoundingLeaf>> Leaves(std::int64_t, std::int64_t from, std::int64_t to) override {
    return logs_.Leaves(from, to);
  }
  Result<Bytes> Read(std::int64_t step, std::uint64_t) override { return logs_.Read(step); }

 private:
  RoundingLogs logs_;
};

// All elements that a step rounds, and those of exact ops.
std::uint64_t ElementsOf(const Program& program) {
  const StepNodes nodes(program);
  const auto of = [&](std::size_t begin, std::size_t end) {
    std::uint64_t elements = 0;
    for (std::size_t n = begin; n < end; ++n) {
      for (const TensorType& type : nodes.Instance(n).out) elements += static_cast<std::uint64_t>(type.elements());
    }
    return elements;
  };
  // Microbatches are alike, and there can be many.
  return nodes.microbatches() * of(0, nodes.micro_size()) + of(nodes.update_begin(), nodes.size());
}

}  // namespace

std::uint64_t MaxRoundingLogBytes(const PreparedJob& prepared) {
  using namespace rounding;
  const std::uint64_t elements = ElementsOf(prepared.program);
  const auto most = [&](std::uint64_t header, std::uint64_t per_segment, std::uint64_t segment_bytes) {
    return header + (elements / per_segment + 1) * segment_bytes;
  };
  const std::uint64_t bytes = prepared.job.round_rule == RoundRule::kPaper
                                  ? most(kPaperHeaderBytes, kPaperSegment, kPaperEntryBytes + kMaxPaperSegmentBytes)
                                  : most(LogHeader::kBytes, kSegment, LogHeader::kEntryBytes + kMaxSegmentBytes);
  return std::min<std::uint64_t>(bytes, std::numeric_limits<std::uint32_t>::max());  // what a run can keep
}

Result<FollowedRun> FollowedRun::Open(const RunDirectory& run, const PreparedJob& prepared) {
  if (!Exists(run.receipt_path())) {
    return Err("{}: has no receipt: its training is not finished, and only a finished run can be followed", run.path());
  }
  ASSAY_ASSIGN(const Bytes file, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  ASSAY_ASSIGN(const Receipt receipt,
               OpenReceipt({reinterpret_cast<const char*>(file.data()), file.size()}, run.signer(), run.receipt_path()));
  ASSAY_TRY(CheckReceipt(run.path(), receipt, prepared));
  const auto most = static_cast<std::uint64_t>(CommitSchedule::Of(prepared.job).entries());
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), prepared.identity.trajectory, most));
  ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(run.rounding_path()));
  return Make(run.path(), receipt, log.entries(), prepared, std::make_unique<LogsOnDisk>(std::move(logs)));
}

Status FollowedRun::CheckReceipt(const std::string& name, const Receipt& receipt, const PreparedJob& prepared) {
  if (prepared.job.precision != Precision::kFp64Rounded) {
    return Err("{}: jobs of this precision have no rounding log to follow", name);
  }
  if (receipt.job != prepared.identity.job) return Err("{}: is a run of another job", name);
  const auto entries = static_cast<std::uint64_t>(CommitSchedule::Of(prepared.job).entries());
  if (receipt.log.size != entries) {
    return Err("{}: its receipt says {} entries, the job has {}", name, receipt.log.size, entries);
  }
  return {};
}

Result<FollowedRun> FollowedRun::Make(std::string name, const Receipt& receipt, std::vector<LogEntry> entries,
                                      const PreparedJob& prepared, std::unique_ptr<RoundingSource> source) {
  ASSAY_TRY(CheckReceipt(name, receipt, prepared));
  std::vector<Digest> hashes;
  for (const LogEntry& entry : entries) hashes.push_back(HashOf(entry));
  if (entries.size() != receipt.log.size || TreeRoot(std::move(hashes)) != receipt.log.root) {
    return Err("{}: its log is not the one that its receipt commits to", name);
  }
  if (const auto wrong = FindWrongEntry(EntryRules::Of(prepared.job), entries, prepared.identity.trajectory)) {
    return Err("{}: entry {} of its log {}", name, wrong->index, wrong->what);
  }
  return FollowedRun(std::move(name), {.signer = receipt.signer, .log_root = receipt.log.root}, std::move(entries), prepared,
                     std::move(source));
}

FollowedRun::FollowedRun(std::string name, Follows follows, std::vector<LogEntry> entries, const PreparedJob& prepared,
                         std::unique_ptr<RoundingSource> source)
    : name_(std::move(name)),
      follows_(std::move(follows)),
      entries_(std::move(entries)),
      commit_every_(prepared.job.commit_every),
      max_log_bytes_(MaxRoundingLogBytes(prepared)),
      source_(std::move(source)) {}

bool FollowedRun::Says(std::size_t index, const LogEntry& entry) const {
  const LogEntry& said = entries_.at(index);
  return said.state_root == entry.state_root && said.batch_root == entry.batch_root && said.loss_bits == entry.loss_bits;
}

// What an entry commits to, once for each entry.
Status FollowedRun::Compare(std::size_t entry) {
  const std::int64_t from = entries_[entry - 1].step, to = entries_[entry].step;
  compared_ = 0;
  ASSAY_ASSIGN(leaves_, source_->Leaves(static_cast<std::int64_t>(entry), from, to));
  if (leaves_.size() != static_cast<std::size_t>(to - from) || RoundingRootOfSteps(leaves_) != *entries_[entry].rounding_root) {
    return Err("{}: the rounding logs of steps {} to {} are not the ones that its signed log commits to: it cannot be followed",
               name_, from + 1, to);
  }
  compared_ = entry;
  return {};
}

Result<Bytes> FollowedRun::Read(std::int64_t step) {
  const auto entry = static_cast<std::size_t>((step + commit_every_ - 1) / commit_every_);
  if (step < 1 || entry >= entries_.size()) return Err("{}: has no step {}", name_, step);
  if (entry != compared_) ASSAY_TRY(Compare(entry));
  const RoundingLeaf& leaf = leaves_[static_cast<std::size_t>(step - 1 - entries_[entry - 1].step)];
  if (leaf.bytes > max_log_bytes_) {
    return Err("{}: commits to a rounding log of {} bytes for step {}, where the job allows {}: it cannot be followed", name_,
               leaf.bytes, step, max_log_bytes_);
  }
  ASSAY_ASSIGN(Bytes log, source_->Read(step, leaf.bytes));
  if (RoundingLeafOf(log) != leaf) {
    return Err(
        "{}: what it hands out as the rounding log of step {} is not the one that its signed log commits to: it cannot be "
        "followed, and does not show what its receipt commits to",
        name_, step);
  }
  return log;
}

}  // namespace assay
