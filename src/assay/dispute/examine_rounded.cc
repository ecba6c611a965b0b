// One element of an output that was rounded: is the value that a party claims one that a correct evaluation can have rounded to, and is it the one that the rounding log
// names (docs/ROUNDING.md, section 4).
#include <algorithm>
#include <bit>

#include "assay/backend/vendor/formula.h"
#include "assay/base/check.h"
#include "assay/dispute/examination.h"
#include "assay/rounding/decision_log.h"

namespace assay::dispute {
namespace {

// Long contractions have no derivation in this profile: their operands are fetched whole, up to 64 MiB.
constexpr std::size_t kMaxRoundedLeaves = 16384;

bool SameBits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

std::string FloatText(float value) { return fmt::format("{} (0x{:08x})", value, std::bit_cast<std::uint32_t>(value)); }

// How many elements with a bound a step rounds before this one. Micro nodes and update nodes run in the order of their numbers; the additions between them are exact.
std::uint64_t PositionOf(const StepNodes& nodes, std::uint32_t node, std::size_t output, std::int64_t element) {
  std::uint64_t position = 0;
  const auto count = [&](std::size_t n, std::size_t outputs) {
    const OpInstance op = nodes.Instance(n);
    if (vendor::IsExact(op.def->index)) return;
    for (std::size_t k = 0; k < outputs && k < op.out.size(); ++k) {
      if (op.out[k].dtype == DType::kF32) position += static_cast<std::uint64_t>(op.out[k].elements());
    }
  };
  for (std::size_t n = 0; n < node; ++n) count(n, SIZE_MAX);
  count(node, output);
  return position + static_cast<std::uint64_t>(element);
}

struct Truth {
  double value = 0;
  double error = 0;  // of a correct evaluation, at most
};

Truth Evaluate(const OpInstance& op, std::span<const SparseTensor> inputs, std::size_t output, std::int64_t element) {
  std::vector<const void*> in;
  for (const SparseTensor& input : inputs) in.push_back(input.data());
  const std::vector<void*> out(op.out.size(), nullptr);
  const KernelArgs args{&op, in, out};
  const Range range{element, element + 1};
  if (vendor::IsExact(op.def->index)) {
    double value = 0;
    vendor::FormulaOf<double>(op.def->index)(args, static_cast<int>(output), range, &value);
    return {value, 0};
  }
  vendor::True value;
  vendor::FormulaOf<vendor::True>(op.def->index)(args, static_cast<int>(output), range, &value);
  return {numerics::ToDouble(value.v), value.e * (1 + 0x1p-10)};
}

}  // namespace

Step<Bytes> Examination::RoundingLog(const DisputedStep& step) {
  const TreeName tree{.kind = TreeKind::kRoundings, .at = step.entry};
  const std::uint64_t leaf[] = {static_cast<std::uint64_t>(step.step - 1 - terms_.StepBefore(step.entry))};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed(tree, leaf, step.roundings));
  const RoundingQuestion question{step.step};
  ASSAY_ASSIGN(const ByteSpan body, AskOne(question));
  const Digest hash = HashBytes(body);
  if (std::ranges::equal(opened.front(), hash.bytes)) return Bytes(body.begin(), body.end());
  Finding finding{.cause = Cause::kUnproven, .step = step.step, .unproven = question};
  finding.reason = fmt::format("the answer about {} does not hold: its hash is not the one agreed on", Describe(question));
  return tl::unexpected(Convict(true, false, std::move(finding)));
}

Step<void> Examination::ExamineRounded(const DisputedStep& step, const NodeRecord& record, std::size_t output,
                                       std::int64_t element, const Both<float>& said, Finding finding) {
  const OpInstance op = terms_.nodes().Instance(record.node);
  const std::vector<InputRange> needs = op.def->dependencies(op, static_cast<int>(output), {element, element + 1});
  ASSAY_ASSIGN(const std::vector<SparseTensor> inputs, FetchInputs(step, record, op, needs, kMaxRoundedLeaves));
  const Truth truth = Evaluate(op, inputs, output, element);
  const numerics::Grid grid(static_cast<int>(terms_.job().round_bits));
  const rounding::Choice choice = rounding::ChoiceAt(grid, truth.value, truth.error);
  Both<bool> possible{};
  for (std::size_t p = 0; p < 2; ++p) {
    const float value = said[p];
    possible[p] = choice.open() ? value >= choice.lo && value <= choice.hi && SameBits(grid.Round(double{value}), value)
                                : SameBits(value, choice.lo);
  }
  finding.truth = choice.open() ? fmt::format("{} to {}", FloatText(choice.lo), FloatText(choice.hi)) : FloatText(choice.lo);
  if (!possible[0] || !possible[1]) return tl::unexpected(Convict(!possible[0], !possible[1], std::move(finding)));

  // Both can have come about: the log that both commit to says which it is.
  ASSAY_ASSIGN(const Bytes bytes, RoundingLog(step));
  const auto log = rounding::DecodeDecisions(bytes, "rounding log");
  if (!log)
    return tl::unexpected(Halt(Undecided{fmt::format("step {}: both agree on a rounding log that is none", step.step)}));
  const std::uint64_t position = PositionOf(terms_.nodes(), record.node, output, element);
  const auto at = std::ranges::lower_bound(log->decisions, position, {}, &rounding::Decision::position);
  if (at == log->decisions.end() || at->position != position) {
    return tl::unexpected(
        Halt(Undecided{fmt::format("step {}: the rounding log leaves out element {} of output {} of node {}, which correct "
                                   "evaluations can round either way; "
                                   "whoever wrote the log is wrong",
                                   step.step, element, output, record.node)}));
  }
  const float right = rounding::Follow(grid, *at, truth.value, 2 * truth.error).value;
  finding.truth = fmt::format("{}, as the rounding log says", FloatText(right));
  if (SameBits(said[0], right) == SameBits(said[1], right)) {
    return tl::unexpected(Halt(Undecided{fmt::format("step {}: the rounding log names neither value", step.step)}));
  }
  return tl::unexpected(Convict(!SameBits(said[0], right), !SameBits(said[1], right), std::move(finding)));
}

}  // namespace assay::dispute
