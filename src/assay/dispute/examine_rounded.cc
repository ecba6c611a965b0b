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
  // Microbatches are alike, and there can be many.
  const bool update = node >= nodes.update_begin();
  const std::size_t whole = update ? nodes.microbatches() : node / nodes.micro_size();
  for (std::size_t n = 0; n < nodes.micro_size() && whole > 0; ++n) count(n, SIZE_MAX);
  position *= whole;
  for (std::size_t n = update ? nodes.update_begin() : whole * nodes.micro_size(); n < node; ++n) count(n, SIZE_MAX);
  count(node, output);
  return position + static_cast<std::uint64_t>(element);
}

// The FP64 value of an exact op; of any other the truth, and how far a correct evaluation can be from it.
struct Truth {
  bool exact = false;
  double value = 0;
  vendor::True truth{};
};

Truth Evaluate(const OpInstance& op, std::span<const SparseTensor> inputs, std::size_t output, std::int64_t element) {
  std::vector<const void*> in;
  for (const SparseTensor& input : inputs) in.push_back(input.data());
  const std::vector<void*> out(op.out.size(), nullptr);
  const KernelArgs args{&op, in, out};
  const Range range{element, element + 1};
  Truth truth{.exact = vendor::IsExact(op.def->index)};
  if (truth.exact) {
    vendor::FormulaOf<double>(op.def->index)(args, static_cast<int>(output), range, &truth.value);
  } else {
    vendor::FormulaOf<vendor::True>(op.def->index)(args, static_cast<int>(output), range, &truth.truth);
    truth.value = numerics::ToDouble(truth.truth.v) + 0.0;
  }
  return truth;
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
  if (truth.exact) {
    const float nearest = grid.Round(truth.value);
    finding.truth = FloatText(nearest);
    return tl::unexpected(Convict(!SameBits(said[0], nearest), !SameBits(said[1], nearest), std::move(finding)));
  }
  // A correct evaluation is within e of the truth. Who follows a log takes what it names within 2e of an evaluation of its own.
  const auto can = [&](float value, double times) {
    return rounding::CanRoundTo(grid, truth.truth.v, times * truth.truth.e, value);
  };
  finding.truth = fmt::format("{:.17g} within {:.3g}", truth.value, truth.truth.e);
  if (!can(said[0], 3) || !can(said[1], 3))
    return tl::unexpected(Convict(!can(said[0], 3), !can(said[1], 3), std::move(finding)));

  ASSAY_ASSIGN(const Bytes bytes, RoundingLog(step));
  const auto log = rounding::DecodeDecisions(bytes, "rounding log");
  if (!log)
    return tl::unexpected(Halt(Undecided{fmt::format("step {}: both agree on a rounding log that is none", step.step)}));
  const std::uint64_t position = PositionOf(terms_.nodes(), record.node, output, element);
  const auto at = std::ranges::lower_bound(log->decisions, position, {}, &rounding::Decision::position);
  const std::string where = fmt::format("step {}: element {} of output {} of node {}", step.step, element, output, record.node);
  if (at == log->decisions.end() || at->position != position) {
    if (can(said[0], 1) && can(said[1], 1)) {
      return tl::unexpected(Halt(
          Undecided{where + " can be rounded either way, and the rounding log leaves it out; whoever wrote the log is wrong"}));
    }
    return tl::unexpected(Convict(!can(said[0], 1), !can(said[1], 1), std::move(finding)));
  }
  const float right = rounding::Follow(grid, *at, truth.value, rounding::Reach(truth.truth.e)).value;
  finding.truth = fmt::format("{}, as the rounding log says", FloatText(right));
  const Both<bool> follows{SameBits(said[0], right), SameBits(said[1], right)};
  if (!can(right, 1) || (follows[0] == follows[1])) {
    return tl::unexpected(Halt(
        Undecided{where + " is decided by the rounding log as no correct evaluation can; whoever wrote the log is wrong"}));
  }
  return tl::unexpected(Convict(!follows[0], !follows[1], std::move(finding)));
}

}  // namespace assay::dispute
