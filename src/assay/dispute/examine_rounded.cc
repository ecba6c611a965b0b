// One element of an output that was rounded: is the value that a party claims one that a correct evaluation can have rounded to, and is it the one that the
// party's own rounding log leads to (docs/ROUNDING.md, section 4).
#include <algorithm>
#include <bit>

#include "assay/base/check.h"
#include "assay/dispute/limits.h"
#include "assay/dispute/proceedings.h"
#include "assay/dispute/squares.h"
#include "assay/merkle/tree.h"
#include "assay/numerics/sums.h"
#include "assay/rounding/by_log.h"
#include "assay/rounding/decision.h"
#include "assay/rounding/find_decision.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::dispute {
namespace {

bool SameBits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

std::string FloatText(float value) { return fmt::format("{} (0x{:08x})", value, std::bit_cast<std::uint32_t>(value)); }

// How many elements with a bound a step rounds before this one.
std::uint64_t PositionOf(const NodeIndex& index, const OpInstance& op, std::uint32_t node, std::size_t output,
                         std::int64_t element) {
  std::uint64_t position = index.BoundedBefore(node);
  for (std::size_t k = 0; k < output; ++k) {
    if (op.out[k].dtype == DType::kF32) position += static_cast<std::uint64_t>(op.out[k].elements());
  }
  return position + static_cast<std::uint64_t>(element);
}

// Of the published rule.
double TauOf(const Job& job, const OpInstance& op, const numerics::Grid& grid) {
  const auto found = job.round_tau.find(std::string(op.def->name));
  return (found == job.round_tau.end() ? 0.25 : double{found->second}) * grid.Spacing(1);
}

}  // namespace

// The FP64 value of an exact op; of any other the truth, and how far a correct evaluation can be from it.
struct Proceedings::Truth {
  bool exact = false;
  double value = 0;
  rounded::True truth{};
};

Step<Proceedings::Truth> Proceedings::TruthOf(const DisputedStep& step, const NodeRecord& record, std::size_t output,
                                              std::int64_t element) {
  const OpInstance op = terms_.nodes().Instance(record.node);
  Truth truth{.exact = !op.def->has_bound()};
  if (SquaresTree::Applies(op)) {
    ASSAY_ASSIGN(const numerics::DoubleDouble sum, ExamineSquares(step, record));
    // Squares of binary32 values are exact and not negative, so that they are their magnitude.
    const double depth = numerics::SumDepth(op.in[0].elements());
    truth.truth = {sum, numerics::SumError(depth, 0, numerics::ToDouble(sum), 0)};
    truth.value = numerics::ToDouble(sum) + 0.0;
    return truth;
  }
  ASSAY_ASSIGN(const Gathered gathered, FetchOperands(step, record, op, output, element));
  const std::vector<void*> out(gathered.op.out.size(), nullptr);
  const KernelArgs args{&gathered.op, gathered.inputs, out};
  const Range range{gathered.element, gathered.element + 1};
  if (truth.exact) {
    rounded::FormulaOf<double>(gathered.op.def->index)(args, static_cast<int>(output), range, &truth.value);
  } else {
    rounded::FormulaOf<rounded::True>(gathered.op.def->index)(args, static_cast<int>(output), range, &truth.truth);
    truth.value = numerics::ToDouble(truth.truth.v) + 0.0;
  }
  return truth;
}

struct Proceedings::RoundedElement {
  std::uint64_t position = 0;
  std::uint64_t elements = 0;  // of the step
  numerics::Grid grid;
  rounded::True truth;
  double tau = 0;  // by the published rule: its threshold
  Both<float> said{};

  // Whether a correct evaluation whose error is at most so many times the bound rounds to the party's value.
  bool Can(std::size_t party, double times) const { return rounding::CanRoundTo(grid, truth.v, times * truth.e, said[party]); }
};

struct Proceedings::Judged {
  bool lied = false;        // its value is not the one that its own log leads to
  std::string log_false{};  // what its log says that no correct evaluation leads to; empty: nothing
};

// A party's rounding log, of which it shows the blocks that are asked for.
class Proceedings::ShownLog : public rounding::PartialLog {
 public:
  ShownLog(Proceedings& proceedings, Party party, std::int64_t step, const RoundingLeaf& leaf)
      : proceedings_(proceedings), party_(party), step_(step), leaf_(leaf) {}

  std::uint64_t size() const override { return leaf_.bytes; }
  Result<Bytes> Read(std::uint64_t begin, std::uint64_t end) override {
    const LeafSpan blocks{begin / kLeafBytes, (end + kLeafBytes - 1) / kLeafBytes};
    const LeavesQuestion question{{.kind = TreeKind::kRoundingLog, .at = step_}, {blocks}};
    const std::uint64_t leaves = leaf_.bytes / kLeafBytes + (leaf_.bytes % kLeafBytes != 0);
    auto opened = proceedings_.OpenOwn(party_, question, leaves, leaf_.root);
    if (!opened) {
      halt_ = std::move(opened).error();
      return Err("not shown yet");
    }
    Bytes joined;
    for (std::size_t i = 0; i < opened->size(); ++i) {
      const Bytes& block = (*opened)[i];
      const std::uint64_t from = (blocks.begin + i) * kLeafBytes;
      if (block.size() != std::min<std::uint64_t>(kLeafBytes, leaf_.bytes - from)) return Err("its blocks are not of its size");
      joined.insert(joined.end(), block.begin(), block.end());
    }
    const auto first = joined.begin() + static_cast<std::ptrdiff_t>(begin - blocks.begin * kLeafBytes);
    return Bytes(first, first + static_cast<std::ptrdiff_t>(end - begin));
  }
  // What ended the examination, where a search ended because of that.
  const std::optional<Halt>& halt() const { return halt_; }

 private:
  Proceedings& proceedings_;
  Party party_;
  std::int64_t step_;
  RoundingLeaf leaf_;
  std::optional<Halt> halt_;
};

// Leaves of a tree that this party alone has committed to.
Step<std::vector<Bytes>> Proceedings::OpenOwn(Party party, const LeavesQuestion& question, std::uint64_t size,
                                              const Digest& root) {
  const Bytes* said = said_[static_cast<std::size_t>(party)]->Find(question);
  if (said == nullptr) return tl::unexpected(Halt(std::vector<Ask>{{party, question}}));
  auto spans = OpenLeaves(*said, question, size, MaxLeafBytes(terms_, question), root);
  if (!spans) {
    Finding finding{.cause = Cause::kUnproven, .step = StepAbout(question), .unproven = question};
    finding.reason = UnprovenReason(question, spans.error().message);
    return tl::unexpected(Convict(party == Party::kA, party == Party::kB, std::move(finding)));
  }
  std::vector<Bytes> opened;
  for (SpanProof& span : *spans) std::ranges::move(span.leaves, std::back_inserter(opened));
  return opened;
}

// A party's value by the log that it has committed to itself.
Step<Proceedings::Judged> Proceedings::JudgeByLog(const DisputedStep& step, Party party, const RoundedElement& element) {
  const auto p = static_cast<std::size_t>(party);
  const TreeName tree{.kind = TreeKind::kRoundings, .at = step.entry};
  const auto place = static_cast<std::uint64_t>(step.step - 1 - terms_.StepBefore(step.entry));
  ASSAY_ASSIGN(const auto leaves, OpenOwn(party, {tree, {{place, place + 1}}}, SizeOf(tree), step.roundings[p]));
  const auto leaf = DecodeRoundingLeaf(leaves.front());
  if (!leaf) return Judged{.log_false = "is none: its entry commits to something else"};
  ShownLog shown(*this, party, step.step, *leaf);
  const auto unreadable = [](const Error& error) {
    return Judged{.log_false = fmt::format("cannot be read ({})", error.message)};
  };
  const auto judged = [](const rounding::ByLog& by) { return Judged{by.lied, std::string(by.log_false)}; };
  const numerics::DoubleDouble& x = element.truth.v;
  const double e = element.truth.e;
  if (terms_.job().round_rule == RoundRule::kPaper) {
    const auto symbol = rounding::FindSymbol(shown, element.elements, element.position);
    if (shown.halt()) return tl::unexpected(*shown.halt());
    if (!symbol) return unreadable(symbol.error());
    return judged(rounding::JudgeBySymbol(element.grid, *symbol, element.tau, x, e, element.said[p]));
  }
  const auto found = rounding::FindDecision(shown, element.elements, element.position);
  if (shown.halt()) return tl::unexpected(*shown.halt());
  if (!found) return unreadable(found.error());
  return judged(rounding::JudgeByDecision(element.grid, *found, x, e, element.said[p]));
}

Step<void> Proceedings::ExamineRounded(const DisputedStep& step, const NodeRecord& record, std::size_t output,
                                       std::int64_t element, const Both<float>& said, Finding finding) {
  const OpInstance op = terms_.nodes().Instance(record.node);
  ASSAY_ASSIGN(const Truth truth, TruthOf(step, record, output, element));
  const numerics::Grid grid(static_cast<int>(terms_.job().round_bits));
  if (truth.exact) {
    const float nearest = grid.Round(truth.value);
    finding.truth = FloatText(nearest);
    return tl::unexpected(Convict(!SameBits(said[0], nearest), !SameBits(said[1], nearest), std::move(finding)));
  }
  const RoundedElement rounded{.position = PositionOf(terms_.index(), op, record.node, output, element),
                               .elements = terms_.index().BoundedBefore(terms_.nodes().size()),
                               .grid = grid,
                               .truth = truth.truth,
                               .tau = TauOf(terms_.job(), op, grid),
                               .said = said};
  finding.truth = fmt::format("{:.17g} within {:.3g}", truth.value, truth.truth.e);
  // A correct evaluation is within e of the truth. Who follows a log takes what it names within 2e of an evaluation of its own.
  const Both<bool> possible{rounded.Can(0, 3), rounded.Can(1, 3)};
  if (!possible[0] || !possible[1]) return tl::unexpected(Convict(!possible[0], !possible[1], std::move(finding)));

  Both<Step<Judged>> judged{JudgeByLog(step, Party::kA, rounded), JudgeByLog(step, Party::kB, rounded)};
  std::vector<Ask> asks;
  std::optional<Halt> open;  // what cannot be told here, after all that can
  for (Step<Judged>& party : judged) {
    if (party) continue;
    Halt& halt = party.error();
    if (auto* more = std::get_if<std::vector<Ask>>(halt.next.get())) {
      std::ranges::move(*more, std::back_inserter(asks));
    } else if (std::holds_alternative<Undecided>(*halt.next)) {
      open = std::move(halt);
    } else {
      return tl::unexpected(std::move(halt));
    }
  }
  if (!asks.empty()) return tl::unexpected(Halt(std::move(asks)));
  if (open) return tl::unexpected(std::move(*open));
  for (std::size_t p = 0; p < 2; ++p) {
    finding.guilty[p] = judged[p]->lied;
    finding.false_log[p] = !judged[p]->log_false.empty();
    if (finding.false_log[p]) finding.reason += fmt::format("; the rounding log {}", judged[p]->log_false);
  }
  if (finding.strikes(Party::kA) || finding.strikes(Party::kB)) return tl::unexpected(Halt(std::move(finding)));
  return tl::unexpected(Halt(Undecided{
      fmt::format(
          "step {}: element {} of output {} of node {} can be rounded either way, and each rounding log says how its run did",
          step.step, element, output, record.node),
      std::string(kDecidedByFollowing), step.step}));
}

}  // namespace assay::dispute
