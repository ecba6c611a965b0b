// Evidence: judged as `assay judge` does.
#include <algorithm>

#include "assay/cli/verdict.h"
#include "assay/cli/verification.h"

namespace assay::cli {

Verification VerifyEvidence(ByteSpan bytes, const Against& against) {
  Verification out{.kind = "evidence", .valid = false};
  const auto evidence = dispute::DecodeEvidence(bytes);
  const auto judgement = evidence ? dispute::Judge(*evidence) : Result<dispute::Judgement>(tl::unexpected(evidence.error()));
  if (!judgement) {
    out.reason = judgement.error().message;
    return out;
  }
  const VerdictView view = ViewOf(*judgement, evidence->pair, {});
  out.shows.push_back(fmt::format("it is about job {}", view.job_id));
  for (const NamedParty& party : view.convicted) {
    out.shows.push_back(fmt::format("{} {}{}{}", judgement->convicts ? "convicts" : "accuses", party.key,
                                    party.why.empty() ? "" : ": ", party.why));
  }
  for (const NamedParty& party : view.standing) out.shows.push_back(fmt::format("{} stands", party.key));
  for (const std::string& unchecked : judgement->unchecked) out.shows.push_back(unchecked);
  out.shows.push_back("assay judge says what was found, with the numbers that differ");
  for (const NamedParty& party : view.accused) {
    out.shows.push_back(
        fmt::format("accuses {} by answers that it has not signed{}{}", party.key, party.why.empty() ? "" : ": ", party.why));
  }
  const bool named = !against.signer || std::ranges::count(view.convicted, against.signer->ToString(), &NamedParty::key) > 0;
  out.valid = judgement->convicts && named;
  if (view.verdict == "undecided") {
    out.valid.reset();
    out.reason = "leaves the dispute undecided";
  } else if (!judgement->convicts) {
    out.reason = "does not convict whom it names";
  } else if (!named) {
    out.reason = fmt::format("does not convict {}", against.signer->ToString());
  }
  return out;
}

}  // namespace assay::cli
