// Proceedings: one run of Examine. It goes through the phases of docs/formats/dispute.md from the start, takes what has been said, and stops at the first
// thing that has not: functions return what they found, or a Halt that ends the examination. Internal to dispute/.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/dispute/examine.h"
#include "assay/dispute/leaf_records.h"
#include "assay/dispute/operands.h"
#include "assay/dispute/scope.h"
#include "assay/dispute/sparse.h"
#include "assay/numerics/double_double.h"
#include "assay/run/entry.h"

namespace assay::dispute {

// An element that depends on at most so many blocks is computed at once; its derivation is not asked for.
inline constexpr std::size_t kDirectLeaves = 32;

template <class T>
using Both = std::array<T, 2>;  // by Party

// What ends an examination. Behind a pointer, because it passes through many hands.
struct Halt {
  using Next = decltype(Outcome::next);
  explicit Halt(Next what) : next(std::make_shared<Next>(std::move(what))) {}
  std::shared_ptr<Next> next;
};
template <class T>
using Step = tl::expected<T, Halt>;

// Where two trees first differ.
struct Difference {
  std::uint64_t leaf = 0;
  Both<Digest> hash{};  // of that leaf
};

// A step about whose start and batch both agree and about whose result they do not.
struct DisputedStep {
  std::int64_t step = 0;
  Digest before{};           // state root
  Digest batch{};            // batch root
  std::int64_t entry = 0;    // that covers it
  Both<Digest> roundings{};  // the rounding roots of that entry; of fp64-rounded jobs
  Both<Digest> after{};
  Both<std::uint32_t> loss_bits{};
};

class Proceedings {
 public:
  Proceedings(const Terms& terms, const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b)
      : terms_(terms), claims_{&a, &b}, said_{&said_a, &said_b} {}

  // Never a value: an examination ends with a Halt.
  Step<void> Run();
  const Progress& progress() const { return progress_; }

 private:
  // examine.cc: from the receipts to one step
  Step<void> CheckReceipts();
  Step<void> ExamineWeights();
  Step<void> CheckEntries(std::int64_t index, const Both<Status>& checks) const;
  Step<Both<std::vector<LogEntry>>> OpenEntries(std::uint64_t first, std::uint64_t last);
  Step<void> ExamineEntry(std::uint64_t index);
  Step<std::uint64_t> EntryOfOtherRun(std::uint64_t index);
  Step<std::uint64_t> EntryInBetween(std::uint64_t index);
  Step<void> ExamineStates(std::int64_t index, const LogEntry& previous, const Both<LogEntry>& entries);
  Step<Digest> BatchOf(std::int64_t index, std::int64_t step, const Digest& batches);

  // examine_start.cc: states and batches that nobody computed
  Step<void> ExamineStart(const Both<Digest>& roots);
  Step<void> ExamineBatches(std::int64_t index, const Both<Digest>& roots);
  Step<void> ExamineBatch(std::int64_t step, const Both<Digest>& roots);
  Step<Bytes> SampleField(std::int64_t step, std::uint64_t row, const Terms::Field& field);
  Step<Both<Digest>> OpenEntryRoots(const TreeName& tree, const Difference& at, const Both<Digest>& roots, Cause cause);

  // examine_node.cc: inside the step
  Step<void> ExamineStep(const DisputedStep& step);
  Step<void> ExamineNode(const DisputedStep& step, std::uint32_t node, const Both<Digest>& traces);
  Step<void> ExamineInput(const DisputedStep& step, std::uint32_t node, std::size_t input, const Digest& trace,
                          const Both<Digest>& roots);
  Step<void> ExamineBatchInput(const DisputedStep& step, std::uint32_t node, std::size_t input, const InputSource& source,
                               const Both<Digest>& roots);
  Step<void> ExamineResult(const DisputedStep& step, const Digest& trace);
  Step<void> ExamineLoss(const DisputedStep& step, const Digest& trace);
  Halt AfterAgreedNodes(const DisputedStep& step, Halt halt) const;
  float RateOf(const DisputedStep& step) const;  // the learning rate that the job has for it
  bool TakesRate(std::size_t node) const;
  Step<void> ExamineScalarInput(const DisputedStep& step, std::uint32_t node, std::size_t input, const InputSource& source,
                                const Both<Digest>& roots);
  Bytes ScalarOf(const DisputedStep& step, const InputSource& source) const;
  Step<Digest> AgreedRoot(const DisputedStep& step, const InputSource& source, const Digest& trace);
  Step<NodeRecord> AgreedRecord(const DisputedStep& step, std::size_t node, const Digest& trace);
  Step<Digest> AgreedStateRoot(const DisputedStep& step, std::size_t tensor);
  Step<Digest> AgreedFieldRoot(const DisputedStep& step, std::size_t field);

  // examine_output.cc: one element of one output
  Step<void> ExamineOutput(const DisputedStep& step, const NodeRecord& record, std::size_t output, const Both<Digest>& roots);
  Step<std::vector<SparseTensor>> FetchInputs(const DisputedStep& step, const NodeRecord& record, const OpInstance& op,
                                              std::span<const InputRange> needs);
  // Of a rounded job, what an element depends on: a few blocks, or a list of words on which the parties agree.
  struct Gathered;  // an op's element, and inputs from which it can be computed
  Step<Gathered> FetchOperands(const DisputedStep& step, const NodeRecord& record, const OpInstance& op, std::size_t output,
                               std::int64_t element);
  Step<void> ExamineOperands(const DisputedStep& step, const NodeRecord& record, const Operands& operands,
                             const PartsQuestion& chunk, const Both<std::vector<ref::Value>>& digests);
  Step<Gathered> TakeWords(const Operands& operands, const PartsQuestion& element, const std::vector<ref::Value>& digests);
  // examine_rounded.cc: what a bound leaves open
  Step<void> ExamineRounded(const DisputedStep& step, const NodeRecord& record, std::size_t output, std::int64_t element,
                            const Both<float>& said, Finding finding);
  struct Truth;
  Step<Truth> TruthOf(const DisputedStep& step, const NodeRecord& record, std::size_t output, std::int64_t element);
  Step<numerics::DoubleDouble> ExamineSquares(const DisputedStep& step, const NodeRecord& record);
  struct RoundedElement;  // what is disputed, and the truth about it
  struct Judged;          // what a party's own log makes of its value
  class ShownLog;
  Step<Judged> JudgeByLog(const DisputedStep& step, Party party, const RoundedElement& element);
  Step<std::vector<Bytes>> OpenOwn(Party party, const LeavesQuestion& question, std::uint64_t size, const Digest& root);
  Step<std::uint32_t> ExamineValue(const DisputedStep& step, const NodeRecord& record, const OpInstance& op,
                                   const PartsQuestion& element, Both<ref::Value>& said);

  // What both have said to this; asks those who have not.
  Step<Both<ByteSpan>> AskBoth(const Question& question);
  // What A has said: for what proves itself, either will do.
  Step<ByteSpan> AskOne(const Question& question);
  // The same, read by `read`; who said something that cannot be read is guilty.
  template <class Read>
  auto ReadBoth(const Question& question, const Read& read)
      -> Step<Both<typename decltype(read(Party::kA, ByteSpan()))::value_type>>;

  Step<Difference> Descend(const TreeName& tree, const Both<Digest>& roots);
  // One leaf of each party's tree.
  Step<Both<Bytes>> OpenBoth(const TreeName& tree, std::uint64_t leaf, const Both<Digest>& roots);
  // Leaves of a tree that both agree on, ascending.
  Step<std::vector<Bytes>> OpenAgreed(const TreeName& tree, std::span<const std::uint64_t> leaves, const Digest& root);
  std::uint64_t SizeOf(const TreeName& tree) const;

  // Those whose value is not the right one are guilty; somebody must be.
  template <class T>
  Halt Convict(const Both<T>& said, const T& right, Finding finding) const;
  static Halt Convict(bool a, bool b, Finding finding);

  void Show(std::string phase, std::string interval) { progress_ = {std::move(phase), std::move(interval)}; }

  const Terms& terms_;
  Both<const Claim*> claims_;
  Both<const Testimony*> said_;
  Progress progress_;
};

// What is wrong with an answer that does not prove itself, in words.
std::string UnprovenReason(const Question& question, std::string_view why);

// Whether elements lie in at most `most` blocks of the inputs.
bool LieInBlocks(const OpInstance& op, std::span<const InputRange> needs, std::size_t most);

// An element of an op, or of its small form, and inputs of which all is there that it depends on: in a few blocks that were opened, or in words that were told.
struct Proceedings::Gathered {
  OpInstance op;
  std::int64_t element = 0;
  std::vector<const void*> inputs{};  // in one of the two below
  std::vector<SparseTensor> opened{};
  std::vector<ref::Value> told{};
};

// Where an input of a node comes from, in words: "the state's h.0.ln_1.weight".
std::string DescribeSource(const Terms& terms, const InputSource& source);

// An element, or a few bytes, as people read them.
std::string ElementText(DType dtype, ByteSpan bytes);

// Spans of ascending leaf numbers, neighbours joined.
std::vector<LeafSpan> SpansOf(std::span<const std::uint64_t> leaves);

// ASSAY_ASSIGN and ASSAY_TRY work for Step as they do for Result.

template <class Read>
auto Proceedings::ReadBoth(const Question& question, const Read& read)
    -> Step<Both<typename decltype(read(Party::kA, ByteSpan()))::value_type>> {
  ASSAY_ASSIGN(const Both<ByteSpan> bodies, AskBoth(question));
  auto a = read(Party::kA, bodies[0]);
  auto b = read(Party::kB, bodies[1]);
  if (a && b) return Both<typename decltype(a)::value_type>{std::move(*a), std::move(*b)};
  Finding finding{.cause = Cause::kUnproven, .step = StepAbout(question), .unproven = question};
  finding.reason = UnprovenReason(question, (a ? b : a).error().message);
  return tl::unexpected(Convict(!a, !b, std::move(finding)));
}

template <class T>
Halt Proceedings::Convict(const Both<T>& said, const T& right, Finding finding) const {
  return Convict(said[0] != right, said[1] != right, std::move(finding));
}

}  // namespace assay::dispute
