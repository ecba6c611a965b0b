#include "assay/dispute/batch_check.h"

#include <utility>

#include "assay/data/root.h"
#include "assay/run/commit_schedule.h"

namespace assay::dispute {

Error OtherData(const PreparedJob& prepared, std::string_view what) {
  const std::string& path = prepared.job.data.path;
  return {
      .message = fmt::format("{}{}the data here is not what the run was trained on: {}", path, path.empty() ? "" : ": ", what),
      .system = true};
}

BatchCheck::BatchCheck(const PreparedJob& prepared, const RunLog& log, ThreadPool& pool, RootOf root_of)
    : prepared_(prepared), log_(log), pool_(pool), root_of_(std::move(root_of)) {}

Result<BatchCheck::Entry> BatchCheck::Look(std::int64_t number) const {
  const CommitSchedule schedule = CommitSchedule::Of(prepared_.job);
  Entry entry{.number = number, .from = schedule.StepOfEntry(number - 1), .roots = {}};
  const std::int64_t last = schedule.StepOfEntry(number);
  const auto look = [&] {
    std::vector<Digest> roots;
    for (std::int64_t step = entry.from + 1; step <= last; ++step) roots.push_back(root_of_(step));
    return roots;
  };
  entry.roots = look();
  if (log_.entries().at(static_cast<std::size_t>(number)).batch_root == BatchRootOfSteps(entry.roots)) return entry;
  // The log or the data: looked at again after the data was found whole, so that both are of the same data.
  const bool is_whole = DataRoot(prepared_.data.part, &pool_) == prepared_.identity.data;
  if (is_whole && look() == entry.roots) return entry;
  return tl::unexpected(
      OtherData(prepared_, fmt::format("the batches of steps {} to {} are not those of the log", entry.from + 1, last)));
}

Result<Digest> BatchCheck::Root(std::int64_t step) {
  const std::int64_t number = CommitSchedule::Of(prepared_.job).EntriesAfter(step - 1);
  if (!kept_ || kept_->number != number) {
    kept_.reset();
    ASSAY_ASSIGN(kept_, Look(number));
  }
  return kept_->roots.at(static_cast<std::size_t>(step - kept_->from - 1));
}

Status BatchCheck::Check(std::int64_t step, const Digest& loaded) {
  ASSAY_ASSIGN(const Digest right, Root(step));
  if (loaded == right) return {};
  return tl::unexpected(OtherData(prepared_, fmt::format("the batch of step {} is not that of the log", step)));
}

}  // namespace assay::dispute
