#include "assay/dispute/law.h"

#include <algorithm>
#include <utility>

#include "assay/run/entry.h"

namespace assay::dispute {
namespace {

struct StepReader {
  std::optional<std::int64_t> OfTree(const TreeName& tree) const {
    switch (tree.kind) {
      case TreeKind::kTrace:
      case TreeKind::kBatch:
      case TreeKind::kBatchField:
      case TreeKind::kInput:
      case TreeKind::kRoundingLog:
      case TreeKind::kOutput: return tree.at;
      case TreeKind::kStates:
      case TreeKind::kRoundings:
      case TreeKind::kBatches: return terms.StepOf(tree.at);
      default: return std::nullopt;
    }
  }
  std::optional<std::int64_t> operator()(const SamplesQuestion& q) const { return q.step; }
  std::optional<std::int64_t> operator()(const PartsQuestion& q) const { return q.step; }
  std::optional<std::int64_t> operator()(const auto& q) const { return OfTree(q.tree); }
  const Terms& terms;
};

// The entry that covers the step in which a question lies.
std::optional<std::int64_t> EntryOf(const Terms& terms, const Question& question) {
  const std::optional<std::int64_t> step = std::visit(StepReader{terms}, question);
  if (!step || *step < 1 || *step > terms.job().steps) return std::nullopt;
  const std::int64_t every = terms.job().commit_every;
  return (*step + every - 1) / every;
}

}  // namespace

std::shared_ptr<const Law> LawOf(std::shared_ptr<const Terms> terms, const Digest& nonce, const LawOptions& options) {
  auto law = std::make_shared<Law>();
  law->examine = [terms](const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b) {
    return Examine(*terms, a, b, said_a, said_b);
  };
  law->check = [terms](const Claim& claim) { return CheckClaim(claim, *terms); };
  law->group = GroupOf;
  // A comparison's answers are worth nothing in a dispute, and the other way round.
  ByteWriter pair;
  pair.String("assay/pair/1");
  pair.Raw(nonce.bytes);
  const Digest secret = options.pair ? HashBytes(pair.bytes()) : nonce;
  law->dispute = [terms, secret](std::span<const Claim> claims) { return DisputeId(*terms, claims, secret); };
  law->one_claim_per_key = !options.pair;
  law->is_signed = [without = options.unsigned_answers](const Answer& answer, ByteSpan question, const VerifyKey& key) {
    return std::ranges::find(without, key) != without.end() || IsSignedBy(answer, question, key);
  };
  law->open_log = [terms](const Claim& claim, const LeavesQuestion& question, ByteSpan body) -> Result<std::vector<Bytes>> {
    if (question.tree != TreeName{.kind = TreeKind::kLog}) return Err("expected a question about the log");
    ASSAY_ASSIGN(std::vector<SpanProof> spans, OpenLeaves(body, question, terms->entries(), claim.receipt.log.root));
    std::vector<Bytes> leaves;
    for (SpanProof& span : spans) {
      for (Bytes& leaf : span.leaves) leaves.push_back(std::move(leaf));
    }
    return leaves;
  };
  law->entry = [terms](const Question& question) { return EntryOf(*terms, question); };
  return law;
}

}  // namespace assay::dispute
