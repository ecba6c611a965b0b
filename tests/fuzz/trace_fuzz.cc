// Traces of one small program. The input is what stands before the signature; it is signed here, since nobody else's is read.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/exec/step_nodes.h"
#include "assay/merkle/tree.h"
#include "assay/model/model.h"
#include "assay/train/trace.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

Program SmallProgram() {
  return BuildProgram(MlpConfig{.inputs = 3, .classes = 2, .hidden = {2}, .activation = "tanh"}, {.kind = OptimizerKind::kSgd},
                      {.microbatch = 2, .microbatches = 2});
}

const SigningKey& Key() {
  static const SigningKey key = SigningKey::Generate("fuzz");
  return key;
}

std::size_t TailBytes() { return 4 + Key().verify_key().id().size() + sizeof(Signature); }

}  // namespace

void RunTrace(ByteSpan input) {
  static const Program program = SmallProgram();
  ByteWriter message;
  message.Raw(AsBytes("assay/trace-signature/1\n"));
  message.Raw(HashBytes(input).bytes);
  ByteWriter file;
  file.Raw(input);
  file.String(Key().verify_key().id());
  file.Raw(Key().Sign(message.bytes()));
  const auto trace = OpenTrace(file.bytes(), Key().verify_key(), program, "trace");
  if (!trace) {
    ASSAY_CHECK(trace.error().message.find('\n') == std::string::npos);
    return;
  }
  ASSAY_CHECK(SignTrace(*trace, Key()) == file.bytes());
}

std::vector<Bytes> TraceSeeds() {
  const Program program = SmallProgram();
  const StepNodes nodes(program);
  Trace trace;
  trace.step = 1;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    std::vector<TraceOutput>& outputs = trace.nodes.emplace_back();
    for (const TensorType& type : nodes.OutputTypes(n)) {
      outputs.push_back({type.bytes(), std::vector<Digest>(CountLeaves(type.bytes()))});
    }
  }
  Bytes file = SignTrace(trace, Key());
  file.resize(file.size() - TailBytes());
  return {file};
}

}  // namespace assay::fuzz
