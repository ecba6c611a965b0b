#include "assay/dispute/fees.h"

#include <algorithm>
#include <utility>

#include "assay/dispute/scope.h"

namespace assay::dispute {

Budget Fees::For(const Digest& dispute, const Question& question, std::size_t bytes, const Work& measured) {
  Budget cost{.work = measured, .bytes = IsAboutReceipt(question) ? 0 : std::max(bytes, kLeastBytes)};
  auto* found = meters_.Find(dispute);
  if (found == nullptr) {
    std::optional<Meter> meter = new_meter_();
    if (!meter) return cost;
    meters_.Put(dispute, std::make_shared<Meter>(std::move(*meter)), 1);
    found = meters_.Find(dispute);
  }
  // What others asked in between, so that it had to be made again, is not held against the dispute.
  Meter& meter = **found;
  const Work before = meter.work();
  meter.Answer(question);
  cost.work = Since(before, meter.work());
  return cost;
}

}  // namespace assay::dispute
