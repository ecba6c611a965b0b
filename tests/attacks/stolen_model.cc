#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

// On the straight line between two models; the far end is met exactly.
void Interpolate(const PreparedJob& prepared, const State& from, const State& to, float share, State& out) {
  if (share == 1) return CopyModel(prepared, to, out);
  const std::vector<bool> is_model = IsModel(prepared);
  for (std::size_t t = 0; t < out.size(); ++t) {
    if (!is_model[t] || out[t].dtype() != DType::kF32) continue;
    const auto a = from[t].Span<float>(), b = to[t].Span<float>();
    const auto values = out[t].Span<float>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = a[i] + share * (b[i] - a[i]);
  }
}

}  // namespace

// The thief has a trained model and no training. It starts properly, takes the weights in a straight line to the stolen ones, and
// runs each step for its loss and moments alone, as if the learning rate had all but vanished: every loss is one that the state
// before it gives, and they fall.
Result<Hooks> StolenModel(const Setting& setting) {
  ASSAY_ASSIGN(State stolen, ForeignModel(setting));
  ASSAY_ASSIGN(State start, StartingState(setting.prepared));
  const auto ends = std::make_shared<std::pair<State, State>>(std::move(start), std::move(stolen));
  return Hooks{.after = [&setting, ends](std::int64_t step, const State&, State& after) -> Status {
    const float share = static_cast<float>(step) / static_cast<float>(setting.prepared.job.steps);
    Interpolate(setting.prepared, ends->first, ends->second, share, after);
    return {};
  }};
}

}  // namespace assay::attacks
