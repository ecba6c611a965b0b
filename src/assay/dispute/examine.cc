#include "assay/dispute/examine.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/dispute/limits.h"
#include "assay/dispute/proceedings.h"
#include "assay/merkle/tree.h"
#include "assay/run/entry_rules.h"

namespace assay::dispute {
namespace {

constexpr TreeName kLogTree{.kind = TreeKind::kLog};

// Whether the entries of two runs say the same about what was computed. What their rounding logs say may differ although both are right.
bool SayTheSame(const LogEntry& a, const LogEntry& b) {
  return a.state_root == b.state_root && a.batch_root == b.batch_root && a.loss_bits == b.loss_bits;
}

}  // namespace

std::string_view ToString(Cause cause) {
  switch (cause) {
    case Cause::kReceipt: return "receipt";
    case Cause::kEntry: return "entry";
    case Cause::kStart: return "start";
    case Cause::kBatch: return "batch";
    case Cause::kHistory: return "history";
    case Cause::kStructure: return "structure";
    case Cause::kInput: return "input";
    case Cause::kOutput: return "output";
    case Cause::kResult: return "result";
    case Cause::kUnproven: return "unproven";
    case Cause::kWeights: return "weights";
  }
  return "unknown";
}

std::string Testimony::KeyOf(const Question& question) {
  const Bytes bytes = Encode(Digest{}, question);
  return {bytes.begin(), bytes.end()};
}
void Testimony::Add(const Question& question, Bytes body) { said_[KeyOf(question)] = std::move(body); }
const Bytes* Testimony::Find(const Question& question) const {
  const auto found = said_.find(KeyOf(question));
  return found == said_.end() ? nullptr : &found->second;
}

Outcome Examine(const Terms& terms, const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b) {
  Proceedings proceedings(terms, a, b, said_a, said_b);
  const Step<void> ended = proceedings.Run();
  ASSAY_CHECK(!ended);
  return {*ended.error().next, proceedings.progress()};
}

Step<void> Proceedings::Run() {
  if (GroupOf(*claims_[0]) == GroupOf(*claims_[1])) return tl::unexpected(Halt(Agreement{}));
  ASSAY_TRY(CheckReceipts());
  const Both<Digest> roots{claims_[0]->receipt.log.root, claims_[1]->receipt.log.root};
  if (roots[0] == roots[1]) return ExamineWeights();  // the receipts say what the log says, and still differ
  ASSAY_ASSIGN(const Difference entry, Descend(kLogTree, roots));
  return ExamineEntry(entry.leaf);
}

Step<void> Proceedings::CheckReceipts() {
  const std::uint64_t last = terms_.entries() - 1;
  Show("steps", fmt::format("0..{}", terms_.job().steps));
  const std::uint64_t ends[] = {0, last};
  const LeavesQuestion question{kLogTree, SpansOf(ends)};
  ASSAY_ASSIGN(const auto entries, ReadBoth(question, [&](Party party, ByteSpan body) -> Result<Both<LogEntry>> {
                 const Digest& root = claims_[static_cast<std::size_t>(party)]->receipt.log.root;
                 ASSAY_ASSIGN(const auto spans, OpenLeaves(body, question, last + 1, MaxLeafBytes(terms_, question), root));
                 ASSAY_ASSIGN(const LogEntry first, DecodeLogEntry(spans.front().leaves.front(), "first entry"));
                 ASSAY_ASSIGN(const LogEntry final, DecodeLogEntry(spans.back().leaves.back(), "last entry"));
                 return Both<LogEntry>{first, final};
               }));
  const EntryRules rules = EntryRules::Of(terms_.job());
  for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) {
    const auto index = static_cast<std::int64_t>(ends[end]);
    ASSAY_TRY(
        CheckEntries(index, {CheckEntryForm(rules, index, entries[0][end]), CheckEntryForm(rules, index, entries[1][end])}));
  }
  Both<bool> contradicts{};
  for (std::size_t p = 0; p < 2; ++p) {
    const Receipt& receipt = claims_[p]->receipt;
    contradicts[p] = receipt.initial_state_root != entries[p][0].state_root ||
                     receipt.final_state_root != entries[p][1].state_root || receipt.loss_bits != entries[p][1].loss_bits;
  }
  if (!contradicts[0] && !contradicts[1]) return {};
  Finding finding{.cause = Cause::kReceipt,
                  .reason = "the receipt says other states or another loss than the log that it signs"};
  return tl::unexpected(Convict(contradicts[0], contradicts[1], std::move(finding)));
}

// Both end in one state and delivered different weights: whose are not those of the state.
Step<void> Proceedings::ExamineWeights() {
  const TreeName tree{.kind = TreeKind::kWeights};
  const Both<Digest> roots{claims_[0]->receipt.weights, claims_[1]->receipt.weights};
  if (SizeOf(tree) == 0) {
    Finding finding{.cause = Cause::kWeights, .reason = "the job's model has no weights, and the receipt names some"};
    return tl::unexpected(Convict(roots, HashBytes({}), std::move(finding)));
  }
  ASSAY_ASSIGN(const Difference at, Descend(tree, roots));
  ASSAY_ASSIGN(const Both<Digest> said, OpenEntryRoots(tree, at, roots, Cause::kWeights));
  const std::size_t tensor = terms_.weights()[static_cast<std::size_t>(at.leaf)];
  const std::int64_t last = terms_.job().steps;
  const DisputedStep after{.step = last + 1, .before = claims_[0]->receipt.final_state_root};
  ASSAY_ASSIGN(const Digest right, AgreedStateRoot(after, tensor));
  Finding finding{.cause = Cause::kWeights, .step = last, .index = static_cast<std::uint32_t>(tensor)};
  for (std::size_t p = 0; p < 2; ++p) finding.said[p] = said[p].hex();
  finding.truth = right.hex();
  finding.reason =
      fmt::format("the delivered weights are not those of the last state: {}", terms_.program().state[tensor].name);
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

// Whose entry is not what one at its place has to be is guilty.
Step<void> Proceedings::CheckEntries(std::int64_t index, const Both<Status>& checks) const {
  if (checks[0] && checks[1]) return {};
  const Status& bad = checks[0] ? checks[1] : checks[0];
  Finding finding{.cause = Cause::kEntry, .reason = fmt::format("entry {} of the log {}", index, bad.error().message)};
  finding.step = terms_.StepOf(index);
  return tl::unexpected(Convict(!checks[0], !checks[1], std::move(finding)));
}

Step<Both<std::vector<LogEntry>>> Proceedings::OpenEntries(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> leaves;
  for (std::uint64_t i = first; i <= last; ++i) leaves.push_back(i);
  const LeavesQuestion question{kLogTree, SpansOf(leaves)};
  return ReadBoth(question, [&](Party party, ByteSpan body) -> Result<std::vector<LogEntry>> {
    const Digest& root = claims_[static_cast<std::size_t>(party)]->receipt.log.root;
    ASSAY_ASSIGN(const auto spans, OpenLeaves(body, question, terms_.entries(), MaxLeafBytes(terms_, question), root));
    std::vector<LogEntry> entries;
    for (const Bytes& leaf : spans.front().leaves) {
      ASSAY_ASSIGN(const LogEntry entry, DecodeLogEntry(leaf, "entry"));
      entries.push_back(entry);
    }
    return entries;
  });
}

// Of runs that differ in entry `index` in their rounding logs alone: an entry that says something else about what was computed, after one that does not.
Step<std::uint64_t> Proceedings::EntryOfOtherRun(std::uint64_t index) {
  const EntryRules rules = EntryRules::Of(terms_.job());
  const auto same = [&](std::uint64_t i) -> Step<bool> {
    ASSAY_ASSIGN(const auto opened, OpenEntries(i, i));
    const auto at = static_cast<std::int64_t>(i);
    const LogEntry &a = opened[0].front(), &b = opened[1].front();
    ASSAY_TRY(CheckEntries(at, {CheckEntryForm(rules, at, a), CheckEntryForm(rules, at, b)}));
    return SayTheSame(a, b);
  };
  const auto step_of = [&](std::uint64_t i) { return terms_.StepOf(static_cast<std::int64_t>(i)); };
  std::uint64_t low = index, high = terms_.entries() - 1;
  ASSAY_ASSIGN(const bool agreed, same(high));
  if (agreed) return EntryInBetween(index);
  while (high - low > 1) {
    Show("steps", fmt::format("{}..{}", step_of(low), step_of(high)));
    const std::uint64_t middle = low + (high - low) / 2;
    ASSAY_ASSIGN(const bool here, same(middle));
    (here ? low : high) = middle;
  }
  return high;
}

// The last entries agree. Nothing leads to an entry in between that does not, since all differ in their rounding logs: they are opened one after the other.
Step<std::uint64_t> Proceedings::EntryInBetween(std::uint64_t index) {
  const EntryRules rules = EntryRules::Of(terms_.job());
  const std::uint64_t last = terms_.entries() - 1, most = std::min(last, index + terms_.entries_compared());
  std::vector<Ask> asks;
  for (std::uint64_t begin = index + 1; begin < most; begin += kMaxLeavesAsked) {
    const auto opened = OpenEntries(begin, std::min<std::uint64_t>(begin + kMaxLeavesAsked, most) - 1);
    if (!opened) {
      auto* more = std::get_if<std::vector<Ask>>(opened.error().next.get());
      if (more == nullptr) return tl::unexpected(opened.error());
      std::ranges::move(*more, std::back_inserter(asks));
      continue;
    }
    for (std::size_t i = 0; asks.empty() && i < (*opened)[0].size(); ++i) {
      const auto at = static_cast<std::int64_t>(begin + i);
      const LogEntry &a = (*opened)[0][i], &b = (*opened)[1][i];
      ASSAY_TRY(CheckEntries(at, {CheckEntryForm(rules, at, a), CheckEntryForm(rules, at, b)}));
      if (!SayTheSame(a, b)) return begin + i;
    }
  }
  if (!asks.empty()) return tl::unexpected(Halt(std::move(asks)));
  if (claims_[0]->receipt.weights != claims_[1]->receipt.weights) ASSAY_TRY(ExamineWeights());
  const std::int64_t first = terms_.StepBefore(static_cast<std::int64_t>(index)) + 1;
  const std::string what = most == last
                               ? "they agree on every committed state, batch and loss"
                               : fmt::format("they agree on the last state and on {} entries that were compared", most - index);
  return tl::unexpected(Halt(
      Undecided{fmt::format("{}, and differ in what their rounding logs say, from step {} on; both can be right", what, first),
                "an audit of each run", first}));
}

// Entry `index` is the first that differs, or the first that differs in more than rounding logs.
Step<void> Proceedings::ExamineEntry(std::uint64_t index) {
  const auto at = static_cast<std::int64_t>(index);
  Show("steps", at == 0 ? "0" : fmt::format("{}..{}", terms_.StepBefore(at), terms_.StepOf(at)));
  ASSAY_ASSIGN(const auto opened, OpenEntries(index == 0 ? 0 : index - 1, index));
  Both<LogEntry> entries{opened[0].back(), opened[1].back()};
  const EntryRules rules = EntryRules::Of(terms_.job());
  const auto check = [&](std::size_t p) {
    return CheckEntry(rules, at, entries[p], index == 0 ? terms_.trajectory() : HashOf(opened[p].front()));
  };
  if (index > 0) {
    const auto before = [&](std::size_t p) { return CheckEntryForm(rules, at - 1, opened[p].front()); };
    ASSAY_TRY(CheckEntries(at - 1, {before(0), before(1)}));
  }
  ASSAY_TRY(CheckEntries(at, {check(0), check(1)}));
  if (index == 0) return ExamineStart({entries[0].state_root, entries[1].state_root});
  if (entries[0].batch_root != entries[1].batch_root) return ExamineBatches(at, {entries[0].batch_root, entries[1].batch_root});
  if (SayTheSame(entries[0], entries[1])) {
    // They are of the same step and follow from agreed entries.
    ASSAY_CHECK(entries[0].rounding_root != entries[1].rounding_root);
    ASSAY_ASSIGN(const std::uint64_t other, EntryOfOtherRun(index));
    return ExamineEntry(other);
  }
  return ExamineStates(at, opened[0].front(), entries);
}

// From the entry that differs to one step: the parties commit to what they say was there in between.
Step<void> Proceedings::ExamineStates(std::int64_t index, const LogEntry& previous, const Both<LogEntry>& entries) {
  const TreeName tree{.kind = TreeKind::kStates, .at = index};
  const std::uint64_t steps = SizeOf(tree);
  DisputedStep disputed{.step = terms_.StepOf(index),
                        .before = previous.state_root,
                        .batch = {},
                        .entry = index,
                        .roundings = {entries[0].rounding_root.value_or(Digest{}), entries[1].rounding_root.value_or(Digest{})},
                        .after = {entries[0].state_root, entries[1].state_root},
                        .loss_bits = {entries[0].loss_bits, entries[1].loss_bits}};
  if (steps > 1) {
    ASSAY_ASSIGN(const auto roots, ReadBoth(CommitQuestion{tree}, [](Party, ByteSpan body) -> Result<Digest> {
                   ASSAY_ASSIGN(const Hashes hashes, ReadHashes(body, 1));
                   return hashes.front();
                 }));
    const auto read = [&](const Both<Bytes>& leaves, std::uint64_t leaf) -> Step<Both<StepRecord>> {
      const Both<Result<StepRecord>> records{DecodeStepRecord(leaves[0]), DecodeStepRecord(leaves[1])};
      const std::int64_t step = previous.step + 1 + static_cast<std::int64_t>(leaf);
      const Both<bool> good{records[0] && records[0]->step == step, records[1] && records[1]->step == step};
      if (good[0] && good[1]) return Both<StepRecord>{*records[0], *records[1]};
      Finding finding{.cause = Cause::kHistory, .reason = fmt::format("what is said of step {} is no record of it", step)};
      finding.step = step;
      return tl::unexpected(Convict(!good[0], !good[1], std::move(finding)));
    };
    ASSAY_ASSIGN(const Both<Bytes> ends, OpenBoth(tree, steps - 1, roots));
    ASSAY_ASSIGN(const Both<StepRecord> last, read(ends, steps - 1));
    Both<bool> contradicts{};
    for (std::size_t p = 0; p < 2; ++p) {
      contradicts[p] = last[p].state_root != entries[p].state_root || last[p].loss_bits != entries[p].loss_bits;
    }
    if (contradicts[0] || contradicts[1]) {
      Finding finding{.cause = Cause::kHistory};
      finding.reason =
          fmt::format("running steps {} to {} again does not give the state of the log", previous.step + 1, disputed.step);
      finding.step = disputed.step;
      return tl::unexpected(Convict(contradicts[0], contradicts[1], std::move(finding)));
    }
    ASSAY_CHECK(roots[0] != roots[1]);  // their last records differ
    ASSAY_ASSIGN(const Difference at, Descend(tree, roots));
    ASSAY_ASSIGN(const Both<Bytes> leaves, OpenBoth(tree, at.leaf, roots));
    ASSAY_ASSIGN(const Both<StepRecord> records, read(leaves, at.leaf));
    disputed.step = records[0].step;
    disputed.after = {records[0].state_root, records[1].state_root};
    disputed.loss_bits = {records[0].loss_bits, records[1].loss_bits};
    if (at.leaf > 0) {
      const std::uint64_t before[] = {at.leaf - 1};
      ASSAY_ASSIGN(const std::vector<Bytes> agreed, OpenAgreed(tree, before, roots[0]));
      const Result<StepRecord> record = DecodeStepRecord(agreed.front());
      if (!record || record->step != disputed.step - 1) {
        Finding finding{
            .cause = Cause::kHistory,
            .reason = fmt::format("both agree on something about step {} that is no record of it", disputed.step - 1)};
        return tl::unexpected(Convict(true, true, std::move(finding)));
      }
      disputed.before = record->state_root;
    }
  }
  ASSAY_ASSIGN(disputed.batch, BatchOf(index, disputed.step, entries[0].batch_root));
  return ExamineStep(disputed);
}

// The batch root of one step, of an entry about whose batches both agree.
Step<Digest> Proceedings::BatchOf(std::int64_t index, std::int64_t step, const Digest& batches) {
  const std::uint64_t leaf[] = {static_cast<std::uint64_t>(step - 1 - terms_.StepBefore(index))};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed({.kind = TreeKind::kBatches, .at = index}, leaf, batches));
  Digest root;
  if (opened.front().size() != root.bytes.size()) {
    Finding finding{.cause = Cause::kBatch, .reason = "both agree on a batch root that is none", .step = step};
    return tl::unexpected(Convict(true, true, std::move(finding)));
  }
  std::ranges::copy(opened.front(), root.bytes.begin());
  return root;
}

}  // namespace assay::dispute
