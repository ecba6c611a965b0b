#include "assay/cli/finished_run.h"

#include <bit>

#include "assay/base/file.h"
#include "assay/run/receipt.h"
#include "assay/run/snapshot.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

}  // namespace

std::optional<TrainOutcome> FinishedOutcome(const RunDirectory& run, std::int64_t steps) {
  const auto file = ReadFile(run.receipt_path(), kMaxReceiptBytes);
  if (!file) return std::nullopt;
  const auto receipt =
      OpenReceipt({reinterpret_cast<const char*>(file->data()), file->size()}, run.signer(), run.receipt_path());
  if (!receipt || receipt->job != run.identity().job || receipt->steps != steps) return std::nullopt;
  const auto weights = Safetensors::Open(run.weights_path());
  if (!weights || HashBytes(weights->bytes()) != receipt->model) return std::nullopt;
  const auto info = SnapshotInfoOf(*weights);
  if (!info) return std::nullopt;
  return TrainOutcome{.step = steps,
                      .first_step = steps,
                      .loss = std::bit_cast<float>(receipt->loss_bits),
                      .validation_loss = info->validation_loss,
                      .state_root = receipt->final_state_root};
}

}  // namespace assay::cli
