#include "unbounded.h"

#include <cstring>

#include "assay/rounding/decision_log.h"

namespace assay::dispute {
namespace {

Terms TermsOf(std::int64_t bits, RoundRule rule) {
  Job job = SmallGpt2();
  std::get<Gpt2Config>(job.model).dropout = 0;
  job.precision = Precision::kFp64Rounded;
  job.round_bits = bits;
  job.round_rule = rule;
  return Terms::Make(Encode(job, ForgedInputs()), ProgramOf(job)).value();
}

}  // namespace

Unbounded::Unbounded(std::int64_t bits, RoundRule rule, bool nan) : terms_(TermsOf(bits, rule)), nan_(nan) {
  const StepNodes& nodes = terms_.nodes();
  while (nodes.Instance(node_).def->name != (nan ? "layernorm" : "attention")) ++node_;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const OpInstance op = nodes.Instance(n);
    if (!op.def->has_bound()) continue;
    if (n == node_) position_ = elements_;
    for (const TensorType& type : op.out) {
      if (type.dtype == DType::kF32) elements_ += static_cast<std::uint64_t>(type.elements());
    }
  }
}

Bytes Unbounded::Decided(float value) const {
  const rounding::Decision decision{.position = position_, .wide = true, .value = value};
  return rounding::EncodeDecisions({&decision, 1}, elements_);
}

Bytes Unbounded::Silent() const { return rounding::EncodeDecisions({}, elements_); }

Bytes Unbounded::Symbols(std::uint8_t symbol) const {
  std::vector<std::uint8_t> symbols(elements_, rounding::kNotClose);
  symbols[position_] = symbol;
  return rounding::EncodePaperLog(symbols);
}

ProviderId Unbounded::Add(Crafted& crafted, bool liar, float said, Bytes log, std::optional<RoundingLeaf> leaf) const {
  const TreeName output{.kind = TreeKind::kOutput, .at = kStep, .node = static_cast<std::uint32_t>(node_)};
  Forgeries forgeries;
  forgeries.logs[kStep] = std::move(log);
  forgeries.leaf = [=, this](const TreeName& tree, std::uint64_t, Bytes& bytes) {
    const auto fill = [&](float with) {
      for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) std::memcpy(bytes.data() + i, &with, 4);
    };
    if (tree.kind == TreeKind::kInput && tree.at == kStep && tree.node == output.node && tree.index < 3)
      fill(tree.index == 2 || (nan_ && tree.index == 1) ? 1.0f : 1e30f);
    if (tree == output) std::memcpy(bytes.data(), &said, 4);
    if (leaf && tree == TreeName{.kind = TreeKind::kRoundings, .at = kStep}) bytes = Encode(*leaf);
  };
  return crafted.Add(liar ? std::optional(output) : std::nullopt, std::move(forgeries));
}

}  // namespace assay::dispute
