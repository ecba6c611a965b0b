#include "assay/dispute/account.h"

namespace assay::dispute {
namespace {

Result<Bytes> Body(Account& account, const CommitQuestion& question) {
  const TreeKind kind = question.tree.kind;
  if (kind != TreeKind::kStates && kind != TreeKind::kTrace) {
    return Err("{}: expected a tree of states or a trace, others have roots already", Describe(question));
  }
  ASSAY_ASSIGN(const auto tree, account.Tree(question.tree));
  return EncodeHashes({{tree->root()}});
}

Result<Bytes> Body(Account& account, const ExpandQuestion& question) {
  ASSAY_ASSIGN(const auto tree, account.Tree(question.tree));
  if (!IsNode(question.span, tree->size())) {
    return Err("{}: that is no node of a tree of {} leaves", Describe(question), tree->size());
  }
  Hashes hashes;
  for (const LeafSpan& node : Frontier(question.span, kExpandLevels)) hashes.push_back(tree->Node(node));
  return EncodeHashes(hashes);
}

Result<Bytes> Body(Account& account, const LeavesQuestion& question) {
  ASSAY_ASSIGN(const auto tree, account.Tree(question.tree));
  std::vector<SpanProof> spans;
  for (const LeafSpan& span : question.spans) {
    if (span.begin >= span.end || span.end > tree->size()) {
      return Err("{}: the tree has {} leaves", Describe(question), tree->size());
    }
    SpanProof proof{.leaves = {}, .proof = tree->ProveRange(span.begin, span.end)};
    for (std::uint64_t i = span.begin; i < span.end; ++i) {
      ASSAY_ASSIGN(Bytes leaf, account.Leaf(question.tree, i));
      proof.leaves.push_back(std::move(leaf));
    }
    spans.push_back(std::move(proof));
  }
  return EncodeLeaves(spans);
}

Result<Bytes> Body(Account& account, const SamplesQuestion& question) {
  ASSAY_ASSIGN(const SamplesAnswer answer, account.Samples(question));
  return EncodeSamples(answer);
}

Result<Bytes> Body(Account& account, const PartsQuestion& question) {
  ASSAY_ASSIGN(const std::vector<ref::Value> parts, account.Parts(question));
  return EncodeValues(parts);
}

}  // namespace

Result<Bytes> AnswerFrom(Account& account, const Question& question) {
  ASSAY_ASSIGN(Bytes body, std::visit([&](const auto& q) { return Body(account, q); }, question));
  if (body.size() > kMaxBodyBytes) {
    return Err("{}: that is {} bytes, an answer has at most {}", Describe(question), body.size(), kMaxBodyBytes);
  }
  return body;
}

}  // namespace assay::dispute
