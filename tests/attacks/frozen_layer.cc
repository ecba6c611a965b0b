#include <string>

#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

// "h.1.mlp.c_fc." of the middle one of the model's matrices.
std::string MiddleLayer(const PreparedJob& prepared) {
  std::vector<std::string> matrices;
  for (const StateSpec& spec : ModelState(prepared.job.model)) {
    if (spec.type.shape.dims().size() > 1) matrices.push_back(spec.name);
  }
  const std::string& name = matrices[matrices.size() / 2];
  return name.substr(0, name.find_last_of('.') + 1);
}

// "h.1.mlp.c_fc.weight" for the tensor itself as for its moments, "adam.m/h.1.mlp.c_fc.weight".
std::string_view Parameter(std::string_view name) { return name.substr(name.find('/') + 1); }

}  // namespace

Result<Hooks> FrozenLayer(const Setting& setting) {
  const std::string layer = MiddleLayer(setting.prepared);
  return Hooks{.after = [&setting, layer](std::int64_t step, const State& before, State& after) -> Status {
    if (step < setting.at) return {};
    for (std::size_t t = 0; t < after.size(); ++t) {
      if (Parameter(setting.prepared.program.state[t].name).starts_with(layer)) after[t] = before[t].Clone();
    }
    return {};
  }};
}

}  // namespace assay::attacks
