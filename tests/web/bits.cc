// The reference in WebAssembly: what it makes of the cases of docs/vectors and of tests/golden/ops.txt, as text. Built by the preset `wasm` alone.
#include <fmt/format.h>

#include "assay/browser/instance.h"
#include "assay/merkle/sha256.h"
#include "assay/ops/table.h"
#include "assay/semantics/ref/ref.h"
#include "docs/vectors.h"
#include "support/op_inputs.h"

namespace assay {
namespace {

// A line of tests/golden/ops.txt.
std::string Golden(const OpDef& def, const OpCase& c) {
  const OpInstance op = testkit::CaseInstance(def, c);
  const std::vector<Tensor> inputs = testkit::CaseInputs(def, c);
  std::vector<Tensor> outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Tensor& input : inputs) in.push_back(input.data());
  for (const TensorType& type : op.out) outputs.emplace_back(type);
  for (Tensor& output : outputs) out.push_back(output.data());
  Sha256 hash;
  for (std::size_t k = 0; k < op.out.size(); ++k) {
    ref::Compute(def.index, {&op, in, out}, static_cast<int>(k), {0, op.out[k].elements()});
    hash.Update(outputs[k].bytes());
  }
  return fmt::format("{}@{}/{} {}\n", def.name, def.version, c.name, hash.Finish().hex());
}

std::string GoldenOf(OpIndex index) {
  std::string lines;
  for (const OpCase& c : Ops()[index].cases()) lines += Golden(Ops()[index], c);
  return lines;
}

}  // namespace
}  // namespace assay

ASSAY_EXPORT(bits_ops) std::uint32_t bits_ops() { return assay::op::kCount; }

ASSAY_EXPORT(bits_golden) void* bits_golden(std::uint32_t op) {
  return assay::browser::Handed(0, assay::GoldenOf(static_cast<assay::OpIndex>(op)));
}

// 0: functions.json; 1: ops.json; 2: derivations.json; 3: the greater part of rounded.json.
ASSAY_EXPORT(bits_vectors) void* bits_vectors(std::uint32_t which) {
  using namespace assay::docs;
  return assay::browser::Handed(0, which == 0   ? FunctionVectors()
                                   : which == 1 ? OpVectors()
                                   : which == 2 ? DerivationVectors()
                                                : RoundedOpVectors());
}
