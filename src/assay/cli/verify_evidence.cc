// Evidence: judged as `assay judge` does.
#include "assay/cli/verdict.h"
#include "assay/cli/verification.h"
#include "assay/verdict/judged.h"

namespace assay::cli {

Result<Verification> VerifyEvidence(ByteSpan bytes, const std::string& path, const Against& against) {
  const auto evidence = dispute::DecodeEvidence(bytes);
  const auto judgement = evidence ? dispute::Judge(*evidence) : Result<dispute::Judgement>(tl::unexpected(evidence.error()));
  if (!judgement) return tl::unexpected(verdict::NotEvidence(path, judgement.error()));
  Verification out{.kind = "evidence", .valid = true};
  const VerdictView view = ViewOf(*evidence, *judgement);
  out.shows.push_back(fmt::format("it is about job {}", view.job_id));
  for (const NamedParty& party : view.convicted) {
    out.shows.push_back(fmt::format("convicts {}{}{}", party.key, party.why.empty() ? "" : ": ", party.why));
  }
  for (const NamedParty& party : view.standing) out.shows.push_back(fmt::format("{} stands", party.key));
  for (const std::string& charge : view.unchecked) out.shows.push_back(fmt::format("leaves a charge unchecked: {}", charge));
  out.shows.push_back("assay judge says what was found, with the numbers that differ");
  for (const NamedParty& party : view.accused) {
    out.shows.push_back(
        fmt::format("accuses {} by answers that it has not signed{}{}", party.key, party.why.empty() ? "" : ": ", party.why));
  }
  out.assumed = view.assumed;
  // What is well made is valid, whomever it convicts; whether it decides anything is another question.
  if (against.signer && !Convicts(*judgement, *against.signer)) {
    out.valid = false;
    out.reason = fmt::format("does not convict {}", against.signer->ToString());
  } else if (judgement->convicts) {
    return out;
  } else if (view.verdict == "both") {
    out.reason = fmt::format("convicts nobody: {}", view.reason);
  } else {
    out.decides = false;
    out.reason = view.verdict == "undecided" ? fmt::format("convicts nobody, and leaves the dispute undecided: {}", view.reason)
                                             : fmt::format("convicts nobody: {}", WorthOf(view));
  }
  return out;
}

}  // namespace assay::cli
