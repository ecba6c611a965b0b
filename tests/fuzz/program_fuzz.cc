// Encoded programs.
#include "assay/base/check.h"
#include "assay/graph/program.h"
#include "assay/model/model.h"
#include "assay/ops/table.h"
#include "fuzz/targets.h"

namespace assay::fuzz {

void RunProgram(ByteSpan input) {
  const auto program = DecodeProgram(Ops(), input);
  if (!program) return;
  const Bytes again = Encode(*program);
  ASSAY_CHECK(std::equal(again.begin(), again.end(), input.begin(), input.end()));
  for (const Graph* graph : {&program->micro, &program->update}) {
    for (const Node& node : graph->nodes()) {
      const OpInstance op = graph->Instance(node);
      op.def->cost(op);
      for (std::size_t k = 0; k < op.out.size(); ++k) {
        const std::int64_t n = op.out[k].elements();
        if (n > 0) op.def->dependencies(op, static_cast<int>(k), {n - 1, n});
      }
    }
  }
}

std::vector<Bytes> ProgramSeeds() {
  const BatchConfig batch{.microbatch = 2, .microbatches = 2, .sequence = 3};
  const MlpConfig mlp{.inputs = 3, .classes = 2, .hidden = {2}, .activation = "tanh"};
  const Gpt2Config gpt2{.vocab = 5, .context = 4, .layers = 1, .heads = 1, .width = 4, .dropout = 0.1f};
  const LlamaConfig llama{.vocab = 5, .context = 4, .layers = 1, .heads = 2, .kv_heads = 1, .width = 4, .hidden = 6};
  const ResNetConfig resnet{.depth = 18, .cifar_stem = false, .classes = 2, .image = 32, .channels = 1, .width = 1};
  return {Encode(BuildProgram(mlp, {.kind = OptimizerKind::kSgd}, batch)), Encode(BuildProgram(gpt2, {}, batch)),
          Encode(BuildProgram(llama, {.kind = OptimizerKind::kAdam}, batch)), Encode(BuildProgram(resnet, {}, batch))};
}

}  // namespace assay::fuzz
