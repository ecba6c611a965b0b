#include "assay/own/model_tensors.h"

#include <algorithm>

namespace assay::own {

Result<std::vector<TensorRef>> ModelTensors(const ModelConfig& model, const Program& program, std::span<const Tensor> state) {
  std::vector<TensorRef> tensors;
  for (const StateSpec& spec : ModelState(model)) {
    const auto found = std::ranges::lower_bound(program.state, spec.name, {}, &StateSpec::name);
    if (found == program.state.end() || found->name != spec.name || found->type != spec.type)
      return Err("the program's state has no tensor {} as its model has it", spec.name);
    tensors.push_back({found->name, &state[static_cast<std::size_t>(found - program.state.begin())]});
  }
  return tensors;
}

}  // namespace assay::own
