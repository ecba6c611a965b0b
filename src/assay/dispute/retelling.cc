#include "assay/dispute/retelling.h"

#include <algorithm>
#include <utility>

#include "assay/dispute/limits.h"
#include "assay/dispute/proceedings.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

// Each round goes through all that was said before it: what a page cannot show anyway is not gone through.
constexpr std::size_t kMostRounds = 200;

struct Pair {
  const ProviderId* claims = nullptr;
  const std::vector<StatementId>* said = nullptr;
};

// What was examined last: the trial that decided between the last two claims, or the draw that left them.
std::optional<Pair> LastPair(const Evidence& evidence) {
  std::optional<Pair> trial, draw;
  for (const Charge& charge : evidence.charges) {
    if (const auto* one = std::get_if<Trial>(&charge)) trial = Pair{one->claims, one->said};
    if (const auto* one = std::get_if<Draw>(&charge)) draw = Pair{one->claims, one->said};
  }
  return trial ? trial : draw;
}

const TreeName* TreeOf(const Question& question) {
  if (const auto* commit = std::get_if<CommitQuestion>(&question)) return &commit->tree;
  if (const auto* expand = std::get_if<ExpandQuestion>(&question)) return &expand->tree;
  if (const auto* leaves = std::get_if<LeavesQuestion>(&question)) return &leaves->tree;
  return nullptr;
}

LeafSpan SpanOf(const Question& question, std::uint64_t size) {
  if (const auto* expand = std::get_if<ExpandQuestion>(&question)) return expand->span;
  if (const auto* leaves = std::get_if<LeavesQuestion>(&question))
    return {leaves->spans.front().begin, leaves->spans.back().end};
  return {0, size};
}

std::string_view AboutOf(TreeKind kind) {
  switch (kind) {
    case TreeKind::kLog:
    case TreeKind::kBatches:
    case TreeKind::kStates:
    case TreeKind::kRoundings: return "steps";
    case TreeKind::kTrace: return "nodes";
    case TreeKind::kState:
    case TreeKind::kBatch:
    case TreeKind::kWeights: return "tensors";
    case TreeKind::kStateTensor:
    case TreeKind::kBatchField:
    case TreeKind::kInput:
    case TreeKind::kOutput:
    case TreeKind::kRoundingLog: break;
  }
  return "blocks";
}

RetoldRound RoundOf(const Terms& terms, const Progress& progress, const std::vector<Ask>& asks) {
  RetoldRound round{.progress = progress};
  for (const Ask& ask : asks) {
    std::string text = Describe(ask.question);
    if (std::ranges::find(round.asked, text) == round.asked.end()) round.asked.push_back(std::move(text));
  }
  const Question& first = asks.front().question;
  const TreeName* tree = TreeOf(first);
  if (tree == nullptr) {
    round.about = std::holds_alternative<PartsQuestion>(first) ? "value" : "samples";
    return round;
  }
  round.about = AboutOf(tree->kind);
  round.of = terms.TreeSize(*tree).value_or(0);
  const LeafSpan span = SpanOf(first, round.of);
  round.begin = span.begin;
  round.end = span.end;
  if (round.about != "steps") return round;
  // Entries and records of entries as the steps that they cover.
  round.of = static_cast<std::uint64_t>(terms.job().steps);
  if (tree->kind == TreeKind::kLog) {
    // Where entries are opened one after the other, the first of them is agreed.
    const auto* opened = std::get_if<LeavesQuestion>(&first);
    const bool agreed = opened != nullptr && opened->spans.size() == 1 && span.size() > 1;
    const auto before = static_cast<std::int64_t>(span.begin) - (agreed ? 0 : 1);
    round.begin = static_cast<std::uint64_t>(before < 0 ? 0 : terms.StepOf(before));
    round.end = static_cast<std::uint64_t>(terms.StepOf(static_cast<std::int64_t>(span.end) - 1));
  } else {
    const auto covered = static_cast<std::uint64_t>(terms.StepBefore(tree->at));
    round.begin = covered + span.begin;
    round.end = covered + span.end;
  }
  return round;
}

RetoldNode NodeOf(const Terms& terms, std::size_t number) {
  const StepNodes& nodes = terms.nodes();
  const OpInstance op = nodes.Instance(number);
  RetoldNode node{.number = number, .op = std::string(op.def->name), .name = nodes.Describe(number)};
  const std::vector<InputSource> sources = nodes.Sources(number);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    RetoldNode::Value value{.what = DescribeSource(terms, sources[i]), .type = op.in[i]};
    if (sources[i].kind == InputSource::Kind::kNode) {
      value.node = sources[i].node;
      value.node_name = nodes.Describe(sources[i].node);
    }
    node.inputs.push_back(std::move(value));
  }
  for (const TensorType& type : nodes.OutputTypes(number)) node.outputs.push_back({.type = type});
  return node;
}

std::optional<RetoldBlock> BlockOf(const Terms& terms, const Question& question, const Testimony said[2]) {
  const auto* leaves = std::get_if<LeavesQuestion>(&question);
  if (leaves == nullptr || leaves->spans.front().size() != 1) return std::nullopt;
  const auto type = terms.TensorOf(leaves->tree);
  const auto size = terms.TreeSize(leaves->tree);
  if (!type || !size) return std::nullopt;
  RetoldBlock block{.what = Describe(question), .type = *type};
  block.first = leaves->spans.front().begin * kLeafBytes / SizeOf(type->dtype);
  for (std::size_t s = 0; s < 2; ++s) {
    const Bytes* body = said[s].Find(question);
    if (body == nullptr) return std::nullopt;
    const auto read = ReadLeaves(*body, *leaves, *size, MaxLeafBytes(terms, *leaves));
    if (!read) return std::nullopt;
    block.said[s] = read->front().leaves.front();
  }
  if (block.said[0] == block.said[1]) return std::nullopt;
  return block;
}

}  // namespace

std::optional<Retelling> Retell(const Evidence& evidence) {
  const std::optional<Pair> pair = LastPair(evidence);
  const auto terms = Terms::Make(evidence.job, evidence.program);
  if (!pair || !terms) return std::nullopt;
  Retelling told{.steps = terms->job().steps, .nodes = terms->nodes().size(), .sides = {pair->claims[0], pair->claims[1]}};
  std::vector<Claim> claims;
  Testimony all[2], heard[2];
  for (std::size_t s = 0; s < 2; ++s) {
    if (pair->claims[s] >= evidence.parties.size()) return std::nullopt;
    auto claim = OpenClaim(evidence.parties[pair->claims[s]].receipt, "receipt");
    if (!claim) return std::nullopt;
    claims.push_back(*std::move(claim));
    for (const StatementId id : pair->said[s]) {
      if (id >= evidence.statements.size()) return std::nullopt;
      all[s].Add(evidence.statements[id].question, evidence.statements[id].body);
    }
  }
  std::vector<Question> asked;
  while (true) {
    const Outcome outcome = Examine(*terms, claims[0], claims[1], heard[0], heard[1]);
    if (const auto* finding = std::get_if<Finding>(&outcome.next)) {
      if (finding->node && *finding->node < told.nodes) told.node = NodeOf(*terms, *finding->node);
      break;
    }
    const auto* asks = std::get_if<std::vector<Ask>>(&outcome.next);
    if (asks == nullptr || asks->empty()) break;
    if (told.rounds.size() == kMostRounds) {
      told.shortened = true;
      break;
    }
    bool heard_more = false;
    for (const Ask& ask : *asks) {
      // What proves itself is asked of one side, and either may have answered.
      for (std::size_t s = 0; s < 2; ++s) {
        const Bytes* body = all[s].Find(ask.question);
        if (body == nullptr || heard[s].Find(ask.question) != nullptr) continue;
        heard[s].Add(ask.question, *body);
        heard_more = true;
      }
      asked.push_back(ask.question);
    }
    if (!heard_more) break;
    told.rounds.push_back(RoundOf(*terms, outcome.progress, *asks));
  }
  for (auto question = asked.rbegin(); question != asked.rend() && !told.block; ++question)
    told.block = BlockOf(*terms, *question, all);
  return told;
}

}  // namespace assay::dispute
