#include "assay/dispute/law.h"

#include <algorithm>
#include <utility>

#include "assay/dispute/limits.h"
#include "assay/dispute/scope.h"

namespace assay::dispute {

std::shared_ptr<const Law> LawOf(std::shared_ptr<const Terms> terms, const LawOptions& options) {
  auto law = std::make_shared<Law>();
  law->examine = [terms](const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b) {
    return Examine(*terms, a, b, said_a, said_b);
  };
  law->check = [terms](const Claim& claim) { return CheckClaim(claim, *terms); };
  law->group = GroupOf;
  // Two honest runs of a rounded job differ, and so do two runs that are compared on one machine.
  law->one_claim_per_key = !options.pair;
  const bool exact = !options.pair && IsExact(terms->job().precision);
  law->contradict = [exact](const Claim& a, const Claim& b) { return Contradict(a.receipt, b.receipt, exact); };
  law->dispute = [terms, options](std::vector<Digest> receipts) {
    return DisputeId({terms->id(), options.referee, std::move(receipts), options.nonce, options.pair});
  };
  law->is_signed = [without = options.unsigned_answers](const Answer& answer, ByteSpan question, const VerifyKey& key) {
    return std::ranges::find(without, key) != without.end() || IsSignedBy(answer, question, key);
  };
  law->open_log = [terms](const Claim& claim, const LeavesQuestion& question, ByteSpan body) -> Result<std::vector<Bytes>> {
    if (question.tree != TreeName{.kind = TreeKind::kLog}) return Err("expected a question about the log");
    ASSAY_ASSIGN(std::vector<SpanProof> spans,
                 OpenLeaves(body, question, terms->entries(), MaxLeafBytes(*terms, question), claim.receipt.log.root));
    std::vector<Bytes> leaves;
    for (SpanProof& span : spans) std::ranges::move(span.leaves, std::back_inserter(leaves));
    return leaves;
  };
  law->max_answer_bytes = [terms](const Question& question) { return MaxAnswerBytes(*terms, question); };
  law->entry = [terms](const Question& question) { return EntryAbout(*terms, question); };
  return law;
}

}  // namespace assay::dispute
