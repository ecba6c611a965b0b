#include "assay/rounding/holds_all.h"

#include <algorithm>

#include "assay/rounding/decision_log.h"
#include "assay/rounding/paper_log.h"

namespace assay::rounding {
namespace {

bool HoldsAllSymbols(ByteSpan log, ByteSpan part) {
  const auto all = DecodePaperLog(log, "log"), some = DecodePaperLog(part, "log");
  return all && some &&
         std::ranges::equal(*some, *all, [](std::uint8_t said, std::uint8_t is) { return said == kNotClose || said == is; });
}

}  // namespace

bool HoldsAll(ByteSpan log, ByteSpan part, Rule rule) {
  if (rule == Rule::kPaper) return HoldsAllSymbols(log, part);
  const auto all = DecodeDecisions(log, "log"), some = DecodeDecisions(part, "log");
  if (!all || !some || all->elements != some->elements) return false;
  auto at = all->decisions.begin();
  for (const Decision& decision : some->decisions) {
    at = std::ranges::lower_bound(at, all->decisions.end(), decision.position, {}, &Decision::position);
    if (at == all->decisions.end() || *at != decision) return false;
  }
  return true;
}

}  // namespace assay::rounding
