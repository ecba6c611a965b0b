#include "cheats.h"
#include "tools.h"

namespace assay::attacks {

// Only the largest moment, and only once: the weights of this step are right, those of all later ones follow from the wrong state.
Result<Hooks> TamperedMoments(const Setting& setting) {
  const std::vector<bool> is_model = IsModel(setting.prepared);
  std::optional<std::size_t> largest;
  for (std::size_t t = 0; t < is_model.size(); ++t) {
    const std::vector<StateSpec>& specs = setting.prepared.program.state;
    if (!is_model[t] && (!largest || specs[t].type.bytes() > specs[*largest].type.bytes())) largest = t;
  }
  if (!largest) return Err("the job's optimizer keeps no state that could be tampered with");
  return Hooks{.after = [&setting, t = *largest](std::int64_t step, const State&, State& after) -> Status {
    if (step != setting.at) return {};
    for (float& v : after[t].Span<float>()) v *= 0.5f;
    return {};
  }};
}

}  // namespace assay::attacks
