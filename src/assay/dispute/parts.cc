#include "assay/dispute/parts.h"

#include <utility>

namespace assay::dispute {

Result<std::vector<ref::Value>> PartsAt(const OpInstance& op, const PartsQuestion& question, std::span<const Tensor> inputs) {
  const auto derivation = ref::Derive(op, static_cast<int>(question.output), question.element);
  if (!derivation) return Err("{}: an element of {} is computed at once", Describe(question), op.def->name);
  std::vector<const void*> in;
  for (const Tensor& input : inputs) in.push_back(input.data());
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

}  // namespace assay::dispute
