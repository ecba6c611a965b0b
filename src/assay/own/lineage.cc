#include "assay/own/lineage.h"

#include "assay/dispute/claim.h"

namespace assay::own {
namespace {

std::string_view AsText(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

Lineage WalkLineage(const Digest& start, std::span<const Parent> parents) {
  Lineage lineage;
  std::optional<Digest> wanted = start;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const std::string what = fmt::format("parent {}", i + 1);
    if (!wanted) {
      lineage.problem = fmt::format("{}: the run before it starts from its seed and descends from nobody", what);
      return lineage;
    }
    // The signer is whom the receipt names; whether that is somebody one knows, the reader of the report decides.
    auto receipt = dispute::OpenClaim(AsText(parents[i].receipt), what);
    auto job = DecodeJob(parents[i].job);
    if (!receipt || !job) {
      lineage.problem = fmt::format("{}: {}", what, !receipt ? receipt.error().message : job.error().message);
      return lineage;
    }
    if (JobId(parents[i].job, parents[i].program) != receipt->receipt.job) {
      lineage.problem = fmt::format("{}: its job is not the one that its receipt is for", what);
      return lineage;
    }
    if (receipt->receipt.model != *wanted) {
      lineage.problem = fmt::format("{}: its receipt is for the weights {:.16}, the run after it starts from {:.16}", what,
                                    receipt->receipt.model.hex(), wanted->hex());
      return lineage;
    }
    wanted = job->inputs.weights;
    lineage.ancestors.push_back({std::move(receipt->receipt), std::move(*job)});
  }
  lineage.complete = !wanted;
  if (wanted) {
    lineage.problem =
        lineage.ancestors.empty()
            ? fmt::format("the run starts from the file of weights {:.16}, and names no receipt for it", wanted->hex())
            : fmt::format("the first of the parents starts from the file of weights {:.16}, and no receipt is named for it",
                          wanted->hex());
  }
  return lineage;
}

}  // namespace assay::own
