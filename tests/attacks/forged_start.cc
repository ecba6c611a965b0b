#include <algorithm>
#include <numeric>

#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

// The values of `values`, in the order in which `model` is sorted.
void MatchRanks(std::span<const float> model, std::span<float> values) {
  std::vector<std::size_t> order(model.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(model[i], i); });
  std::vector<float> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  for (std::size_t rank = 0; rank < order.size(); ++rank) values[order[rank]] = sorted[rank];
}

}  // namespace

// Every tensor has exactly the values of a proper start, so no test of their distribution finds anything; but they lie where
// somebody else's trained model has its small and large ones, and training leads back to that model.
Result<Hooks> ForgedStart(const Setting& setting) {
  return Hooks{.start = [&setting](State& state) -> Status {
    ASSAY_ASSIGN(const State foreign, ForeignModel(setting));
    for (std::size_t t = 0; t < state.size(); ++t) {
      const StateSpec& spec = setting.prepared.program.state[t];
      if (spec.init.kind != InitKind::kConstant) MatchRanks(foreign[t].Span<float>(), state[t].Span<float>());
    }
    return {};
  }};
}

}  // namespace assay::attacks
