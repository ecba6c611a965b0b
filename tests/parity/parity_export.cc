// Writes the initial weights of a parity case as safetensors, in our layouts, for scripts/parity_reference.py.
// Usage: parity_export gpt2|resnet50 FILE
#include <cstdio>
#include <string_view>
#include <vector>

#include "assay/tensor/safetensors.h"
#include "parity_case.h"

int main(int argc, char** argv) {
  using namespace assay;
  const std::string_view name = argc == 3 ? argv[1] : "";
  if (name != "gpt2" && name != "resnet50") {
    std::fprintf(stderr, "usage: parity_export gpt2|resnet50 FILE\n");
    return 2;
  }
  const parity::Case c = name == "gpt2" ? parity::Gpt2Case() : parity::ResNet50Case();
  const Program program = BuildProgram(c.model, c.optimizer, c.gradient_batch);
  const State state = parity::InitialWeights(program);
  const std::vector<StateSpec> weights = ModelState(c.model);
  std::vector<TensorRef> tensors;
  for (std::size_t i = 0, next = 0; i < state.size() && next < weights.size(); ++i) {
    if (program.state[i].name == weights[next].name) tensors.push_back({weights[next++].name, &state[i]});
  }
  const Status status = WriteSafetensors(argv[2], tensors);
  if (status) return 0;
  std::fprintf(stderr, "parity_export: %s\n", status.error().message.c_str());
  return 2;
}
