#include "assay/dispute/scope.h"

namespace assay::dispute {
namespace {

struct TreeReader {
  const TreeName* operator()(const SamplesQuestion&) const { return nullptr; }
  const TreeName* operator()(const PartsQuestion&) const { return nullptr; }
  const TreeName* operator()(const auto& q) const { return &q.tree; }
};

const TreeName* TreeOf(const Question& question) { return std::visit(TreeReader{}, question); }

struct StepReader {
  std::optional<std::int64_t> operator()(const SamplesQuestion& q) const { return q.step; }
  std::optional<std::int64_t> operator()(const PartsQuestion& q) const { return q.step; }
  std::optional<std::int64_t> operator()(const auto& q) const {
    switch (q.tree.kind) {
      case TreeKind::kLog:
      case TreeKind::kWeights:
      case TreeKind::kBatches:
      case TreeKind::kStates:
      case TreeKind::kRoundings: return std::nullopt;
      default: return q.tree.at;
    }
  }
};

}  // namespace

bool IsAboutReceipt(const Question& question) {
  const TreeName* tree = TreeOf(question);
  return tree != nullptr && (tree->kind == TreeKind::kLog || tree->kind == TreeKind::kWeights);
}

bool IsAboutReceipt(Cause cause) {
  switch (cause) {
    case Cause::kReceipt:
    case Cause::kEntry:
    case Cause::kStart:
    case Cause::kWeights: return true;
    default: return false;
  }
}

Standing StruckAs(const Finding& finding, Party side, bool follows) {
  const bool guilty = finding.guilty[static_cast<std::size_t>(side)];
  return !guilty && follows ? Standing::kMisled : Standing::kConvicted;
}

std::optional<std::int64_t> StepAbout(const Question& question) { return std::visit(StepReader{}, question); }

std::optional<std::int64_t> EntryAbout(const Terms& terms, const Question& question) {
  const TreeName* tree = TreeOf(question);
  std::optional<std::int64_t> step = StepAbout(question);
  if (tree != nullptr) {
    switch (tree->kind) {
      case TreeKind::kBatches:
      case TreeKind::kStates:
      case TreeKind::kRoundings: step = terms.StepOf(tree->at); break;
      // A state belongs to the step before it and to the one after: it is asked about as what both agree on.
      case TreeKind::kState:
      case TreeKind::kStateTensor: return std::nullopt;
      default: break;
    }
  }
  if (!step || *step < 1 || *step > terms.job().steps) return std::nullopt;
  const std::int64_t every = terms.job().commit_every;
  return (*step + every - 1) / every;
}

}  // namespace assay::dispute
