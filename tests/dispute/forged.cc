#include "forged.h"

#include <algorithm>
#include <bit>

#include "assay/base/check.h"
#include "assay/data/root.h"
#include "assay/dispute/leaf_records.h"
#include "assay/dispute/limits.h"
#include "assay/merkle/tree.h"
#include "assay/ops/table.h"
#include "assay/run/entry.h"
#include "play.h"

namespace assay::dispute {
namespace {

void ProveIn(LeafSpan node, LeafSpan range, const std::function<Digest(LeafSpan)>& hash, Hashes& out) {
  if (node.end <= range.begin || node.begin >= range.end) return out.push_back(hash(node));
  if (node.begin >= range.begin && node.end <= range.end) return;
  const std::uint64_t middle = node.begin + std::bit_floor(node.size() - 1);
  ProveIn({node.begin, middle}, range, hash, out);
  ProveIn({middle, node.end}, range, hash, out);
}

}  // namespace

GeneratedDescriptor ForgedData() { return {.begin = 0, .end = 64, .classes = 3, .features = 7, .noise = 0.5f, .seed = 1}; }
Digest ForgedDataRoot() { return DataRoot(DataDescriptor(ForgedData()), std::span<const Digest>()); }

bool Forged::CanForge(const Terms& terms) {
  return terms.entries() <= kMaxList && terms.nodes().size() <= kMaxList &&
         static_cast<std::uint64_t>(std::min(terms.job().commit_every, terms.job().steps)) <= kMaxList;
}

bool Forged::IsTensor(const TreeName& tree) const {
  return tree.kind == TreeKind::kStateTensor || tree.kind == TreeKind::kBatchField || tree.kind == TreeKind::kInput ||
         tree.kind == TreeKind::kOutput;
}

std::uint64_t Forged::SizeOf(const TreeName& tree) const {
  if (tree.kind == TreeKind::kRoundingLog) return CountLeaves(forgeries_.logs.at(tree.at).size());
  const auto size = terms_.TreeSize(tree);
  ASSAY_CHECK(size.has_value());
  return *size;
}

// From the step of the lie on, the state is another.
bool Forged::IsAfterLie(std::int64_t step) const {
  if (!lie_) return false;
  const bool state = lie_->kind == TreeKind::kStateTensor, batch = lie_->kind == TreeKind::kBatchField;
  return !state && !batch && step >= lie_->at;
}

Bytes Forged::Leaf(const TreeName& tree, std::uint64_t index) {
  Bytes leaf = PlainLeaf(tree, index);
  if (forgeries_.leaf) forgeries_.leaf(tree, index, leaf);
  return leaf;
}

Bytes Forged::PlainLeaf(const TreeName& tree, std::uint64_t index) {
  const auto at = static_cast<std::size_t>(index);
  switch (tree.kind) {
    case TreeKind::kLog: {
      const std::int64_t entry = static_cast<std::int64_t>(index), step = terms_.StepOf(entry);
      LogEntry made{.step = step,
                    .state_root = Root({.kind = TreeKind::kState, .at = step}),
                    .batch_root = entry == 0 ? HashBytes({}) : Root({.kind = TreeKind::kBatches, .at = entry}),
                    .loss_bits = 0,
                    .previous = entry == 0 ? terms_.trajectory() : LeafHash(Leaf(tree, index - 1))};
      if (terms_.job().precision == Precision::kFp64Rounded) {
        made.rounding_root = entry == 0 ? HashBytes({}) : Root({.kind = TreeKind::kRoundings, .at = entry});
      }
      return Encode(made);
    }
    case TreeKind::kBatches: {
      const Digest root =
          Root({.kind = TreeKind::kBatch, .at = terms_.StepBefore(tree.at) + 1 + static_cast<std::int64_t>(index)});
      return {root.bytes.begin(), root.bytes.end()};
    }
    case TreeKind::kRoundings: {
      const auto log = forgeries_.logs.find(terms_.StepBefore(tree.at) + 1 + static_cast<std::int64_t>(index));
      return log == forgeries_.logs.end() ? Bytes(LeafBytes(terms_, tree, index)) : Encode(RoundingLeafOf(log->second));
    }
    case TreeKind::kRoundingLog: {
      const Bytes& log = forgeries_.logs.at(tree.at);
      const auto begin = log.begin() + static_cast<std::ptrdiff_t>(at * kLeafBytes);
      return {begin, begin + static_cast<std::ptrdiff_t>(std::min<std::size_t>(kLeafBytes, log.size() - at * kLeafBytes))};
    }
    case TreeKind::kWeights: {
      const auto tensor = static_cast<std::uint32_t>(terms_.weights()[at]);
      return terms_.WeightEntry(at, Root({.kind = TreeKind::kStateTensor, .at = terms_.job().steps, .index = tensor}));
    }
    case TreeKind::kStates: {
      const std::int64_t step = terms_.StepBefore(tree.at) + 1 + static_cast<std::int64_t>(index);
      return Encode(StepRecord{.step = step, .state_root = Root({.kind = TreeKind::kState, .at = step})});
    }
    case TreeKind::kTrace: {
      NodeRecord record = BlankRecord(terms_.nodes(), at);
      const auto node = static_cast<std::uint32_t>(at);
      for (std::uint32_t k = 0; k < record.inputs.size(); ++k) record.inputs[k] = Root({TreeKind::kInput, tree.at, node, k});
      for (std::uint32_t k = 0; k < record.outputs.size(); ++k)
        record.outputs[k].root = Root({TreeKind::kOutput, tree.at, node, k});
      return Encode(record);
    }
    case TreeKind::kState:
      return terms_.StateEntry(at,
                               Root({.kind = TreeKind::kStateTensor, .at = tree.at, .index = static_cast<std::uint32_t>(at)}));
    case TreeKind::kBatch:
      return terms_.BatchEntry(at,
                               Root({.kind = TreeKind::kBatchField, .at = tree.at, .index = static_cast<std::uint32_t>(at)}));
    default: break;
  }
  Bytes block(LeafBytes(terms_, tree, index));
  const bool other_state = tree.kind == TreeKind::kStateTensor && tree.index == 0 && IsAfterLie(tree.at);
  if (index == 0 && (HasLie(tree) || other_state)) block[0] = 1;
  return block;
}

const HashTree& Forged::List(const TreeName& tree) {
  auto found = lists_.find(tree);
  if (found == lists_.end()) {
    std::vector<Bytes> leaves;
    std::vector<Digest> hashes;
    for (std::uint64_t i = 0, size = SizeOf(tree); i < size; ++i) {
      // The log's entries name the one before; made anew each time they would be quadratic.
      if (tree.kind == TreeKind::kLog && i > 0) {
        LogEntry entry;
        const std::int64_t step = terms_.StepOf(static_cast<std::int64_t>(i));
        entry.previous = hashes.back();
        entry.step = step;
        entry.state_root = Root({.kind = TreeKind::kState, .at = step});
        entry.batch_root = Root({.kind = TreeKind::kBatches, .at = static_cast<std::int64_t>(i)});
        if (terms_.job().precision == Precision::kFp64Rounded)
          entry.rounding_root = Root({.kind = TreeKind::kRoundings, .at = static_cast<std::int64_t>(i)});
        leaves.push_back(Encode(entry));
        if (forgeries_.leaf) forgeries_.leaf(tree, i, leaves.back());
      } else {
        leaves.push_back(Leaf(tree, i));
      }
      hashes.push_back(LeafHash(leaves.back()));
    }
    found = lists_.emplace(tree, std::pair(std::move(leaves), HashTree(std::move(hashes)))).first;
  }
  return found->second.second;
}

Digest Forged::Node(const TreeName& tree, LeafSpan span) {
  if (!IsTensor(tree)) return List(tree).Node(span);
  if (span.size() == 1) {
    const bool plain = span.begin > 0 && span.end < SizeOf(tree);
    if (plain && zeros_.contains(1)) return zeros_.at(1);
    const Digest hash = LeafHash(Leaf(tree, span.begin));
    if (plain) zeros_[1] = hash;
    return hash;
  }
  const bool plain = span.begin > 0 && span.end < SizeOf(tree);
  if (plain && zeros_.contains(span.size())) return zeros_.at(span.size());
  const std::uint64_t middle = span.begin + std::bit_floor(span.size() - 1);
  const Digest hash = NodeHash(Node(tree, {span.begin, middle}), Node(tree, {middle, span.end}));
  if (plain) zeros_[span.size()] = hash;
  return hash;
}

Digest Forged::Root(const TreeName& tree) { return Node(tree, {0, SizeOf(tree)}); }

Hashes Forged::Prove(const TreeName& tree, LeafSpan range) {
  Hashes proof;
  ProveIn({0, SizeOf(tree)}, range, [&](LeafSpan node) { return Node(tree, node); }, proof);
  return proof;
}

Receipt Forged::MakeReceipt() {
  const std::uint64_t entries = terms_.entries();
  const TreeName log{.kind = TreeKind::kLog};
  List(log);
  const auto entry = [&](std::uint64_t i) {
    return *DecodeLogEntry(lists_.at(log).first[static_cast<std::size_t>(i)], "entry");
  };
  Receipt receipt{.model = {},
                  .job = terms_.id(),
                  .trajectory = terms_.trajectory(),
                  .program = terms_.program_hash(),
                  .data = terms_.inputs().data,
                  .steps = terms_.job().steps,
                  .commit_every = terms_.job().commit_every,
                  .log = {.origin = "forged", .size = entries, .root = Root(log)},
                  .initial_state_root = entry(0).state_root,
                  .final_state_root = entry(entries - 1).state_root,
                  .signer = {}};
  if (!terms_.weights().empty()) receipt.weights = Root({.kind = TreeKind::kWeights});
  if (forgeries_.receipt) forgeries_.receipt(receipt);
  return receipt;
}

Claim Forged::MakeClaim() {
  const SigningKey key("forger", {static_cast<std::uint8_t>(lie_ ? 2 : 1)});
  return {MakeReceipt(), key.verify_key(), HashBytes(AsBytes(lie_ ? "b" : "a"))};
}

struct Forged::AnswerMaker {
  Forged& self;
  Result<Bytes> operator()(const CommitQuestion& q) { return EncodeHashes({{self.Root(q.tree)}}); }
  Result<Bytes> operator()(const ExpandQuestion& q) {
    Hashes hashes;
    for (const LeafSpan& node : Frontier(q.span, kExpandLevels)) hashes.push_back(self.Node(q.tree, node));
    return EncodeHashes(hashes);
  }
  Result<Bytes> operator()(const LeavesQuestion& q) {
    std::vector<SpanProof> spans;
    for (const LeafSpan& span : q.spans) {
      SpanProof proof{.leaves = {}, .proof = self.Prove(q.tree, span)};
      for (std::uint64_t i = span.begin; i < span.end; ++i) {
        const bool list = !self.IsTensor(q.tree);
        if (list) self.List(q.tree);
        proof.leaves.push_back(list ? self.lists_.at(q.tree).first[static_cast<std::size_t>(i)] : self.Leaf(q.tree, i));
      }
      spans.push_back(std::move(proof));
    }
    return EncodeLeaves(spans);
  }
  Result<Bytes> operator()(const SamplesQuestion&) { return EncodeSamples({.descriptor = ForgedData(), .proof = {}}); }
  Result<Bytes> operator()(const PartsQuestion& q) {
    const OpInstance op = self.terms_.nodes().Instance(q.node);
    const auto derivation = ref::Derive(op, static_cast<int>(q.output), q.element);
    std::vector<ref::Value> parts(derivation == nullptr ? 0 : derivation->Parts(q.path));
    if (self.lie_ && !parts.empty()) parts[static_cast<std::size_t>(q.element) % parts.size()] = 1;
    return EncodeValues(parts);
  }
};

Result<Bytes> Forged::Answer(const Question& question) { return std::visit(AnswerMaker{*this}, question); }

ForgedGames& ForgedGames::operator+=(const ForgedGames& more) {
  played += more.played;
  convicted += more.convicted;
  return *this;
}

ForgedGames PlayForged(const Terms& terms) {
  if (!Forged::CanForge(terms)) return {};
  ForgedGames games;
  const std::int64_t step = terms.job().steps;
  std::vector<TreeName> lies = {{.kind = TreeKind::kStateTensor, .at = 0},
                                {.kind = TreeKind::kStateTensor, .at = step},
                                {.kind = TreeKind::kBatchField, .at = step}};
  const StepNodes& nodes = terms.nodes();
  for (std::size_t n = 0; n < nodes.size(); n += std::max<std::size_t>(1, nodes.size() / 5)) {
    const OpInstance op = nodes.Instance(n);
    const auto node = static_cast<std::uint32_t>(n);
    for (std::uint32_t k = 0; k < std::min<std::size_t>(op.in.size(), 3); ++k)
      lies.push_back({TreeKind::kInput, step, node, k});
    for (std::uint32_t k = 0; k < op.out.size(); ++k) lies.push_back({TreeKind::kOutput, step, node, k});
  }
  Forged honest(terms, std::nullopt);
  const Claim first = honest.MakeClaim();
  for (const TreeName& lie : lies) {
    Forged liar(terms, lie);
    const Claim second = liar.MakeClaim();
    const Played played = Play(
        terms, first, second, [&](const Question& question) { return honest.Answer(question); },
        [&](const Question& question) { return liar.Answer(question); });
    ASSAY_CHECK(!std::holds_alternative<std::vector<Ask>>(played.outcome.next));
    games += {.played = 1, .convicted = played.finding() != nullptr ? std::size_t{1} : 0};
  }
  return games;
}

Job SmallMlp() {
  Job job;
  job.steps = 2;
  job.commit_every = 1;
  job.model = MlpConfig{.inputs = 7, .classes = 3, .hidden = {5}};
  job.data.kind = DataKind::kFeatures;
  job.batch = {.microbatch = 4, .microbatches = 2};
  job.optimizer.clip_norm = 1;
  return job;
}

Job SmallGpt2() {
  Job job = SmallMlp();
  job.model = Gpt2Config{.vocab = 5, .context = 4, .layers = 1, .heads = 1, .width = 4, .dropout = 0.1f};
  job.data.kind = DataKind::kTokens;
  job.batch = {.microbatch = 2, .microbatches = 1, .sequence = 4};
  return job;
}

JobInputs ForgedInputs() { return {.data = ForgedDataRoot(), .weights = {}}; }

Bytes ProgramOf(const Job& job) { return Encode(BuildProgram(job.model, job.optimizer, job.batch, DigitsOf(job.precision))); }

Program WithLoss(const std::function<ValueId(GraphBuilder&, ValueId features)>& loss, std::vector<StateSpec> state,
                 TensorType features) {
  Program program;
  program.state = std::move(state);
  GraphBuilder micro(Ops());
  const ValueId x = micro.Input("batch/features", features);
  micro.Output("loss", loss(micro, x));
  program.micro = std::move(micro).Finish();
  GraphBuilder update(Ops());
  program.update = std::move(update).Finish();
  return program;
}

}  // namespace assay::dispute
