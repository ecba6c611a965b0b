// Evidence: judged as `assay judge` does.
#include "assay/cli/verification.h"
#include "assay/dispute/evidence.h"

namespace assay::cli {

Verification VerifyEvidence(ByteSpan bytes, const Against& against) {
  Verification out{.kind = "evidence", .valid = false};
  const auto evidence = dispute::DecodeEvidence(bytes);
  const auto judgement = evidence ? dispute::Judge(*evidence) : Result<dispute::Judgement>(tl::unexpected(evidence.error()));
  if (!judgement) {
    out.reason = judgement.error().message;
    return out;
  }
  bool named = false;
  for (std::size_t i = 0; i < judgement->parties.size(); ++i) {
    const dispute::Judgement::Party& party = judgement->parties[i];
    const auto claim = dispute::OpenClaim(evidence->parties[i].receipt, "receipt");
    const bool guilty = party.standing == dispute::Standing::kConvicted || party.standing == dispute::Standing::kEquivocated;
    if (!claim || !guilty || !party.proven) continue;
    named = named || claim->signer == against.signer;
    out.shows.push_back(fmt::format("convicts {}: {}", claim->signer.ToString(), party.by));
  }
  out.valid = judgement->convicts && (!against.signer || named);
  if (!judgement->convicts) out.reason = "does not convict whom it names";
  if (judgement->convicts && !*out.valid) out.reason = fmt::format("does not convict {}", against.signer->ToString());
  out.shows.push_back("assay judge says what was found, with the numbers that differ");
  return out;
}

}  // namespace assay::cli
