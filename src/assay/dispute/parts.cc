#include "assay/dispute/parts.h"

#include <utility>

#include "assay/dispute/operands.h"
#include "assay/dispute/squares.h"

namespace assay::dispute {

Result<std::vector<ref::Value>> PartsAt(const OpInstance& op, const PartsQuestion& question, std::span<const void* const> in) {
  const auto derivation = ref::Derive(op, static_cast<int>(question.output), question.element);
  if (!derivation) return Err("{}: an element of {} is computed at once", Describe(question), op.def->name);
  ref::Path path;
  ref::Settled settled;
  for (const std::uint32_t part : question.path) {
    if (part >= derivation->Parts(path)) return Err("{}: there is no such value", Describe(question));
    std::vector<ref::Value> before = ref::PartsOf(*derivation, path, settled, in);
    before.resize(part);
    settled.push_back(std::move(before));
    path.push_back(part);
  }
  return ref::PartsOf(*derivation, path, settled, in);
}

Result<std::vector<ref::Value>> RoundedPartsAt(const OpInstance& op, const PartsQuestion& question,
                                               std::span<const void* const> in) {
  if (op.out[question.output].dtype != DType::kF32) return PartsAt(op, question, in);  // integers are not rounded
  if (SquaresTree::Applies(op)) {
    const SquaresTree tree(op.in[0].elements());
    ASSAY_ASSIGN(const Range range, tree.RangeOf(question.path));
    return tree.PartsOf(range, static_cast<const float*>(in[0]));
  }
  const auto operands = Operands::Of(op, static_cast<int>(question.output), question.element);
  if (!operands) return Err("{}: it depends on a few words", Describe(question));
  return operands->Answer(question.path, in);
}

}  // namespace assay::dispute
