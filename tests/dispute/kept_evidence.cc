#include "kept_evidence.h"

#include <algorithm>
#include <cstdlib>

#include "assay/base/check.h"
#include "assay/base/file.h"
#include "assay/dispute/claim.h"

namespace assay::dispute {

void KeepEvidence(const Evidence& evidence) {
  const char* folder = std::getenv("ASSAY_KEEP_EVIDENCE");
  if (folder == nullptr) return;
  const Bytes bytes = Encode(evidence);
  ASSAY_CHECK(WriteFileAtomic(JoinPath(folder, HashBytes(bytes).hex() + ".evidence"), bytes));
}

Evidence EvidenceOfTrial(const Witness& a, const Witness& b, const Finding& finding) {
  Evidence evidence{.job = *a.job, .program = *a.program};
  evidence.parties = {{.receipt = *a.receipt, .number = 0}, {.receipt = *b.receipt, .number = 1}};
  DisputeName name{.job = JobId(*a.job, *a.program)};
  Trial trial{.claims = {0, 1}, .finding = finding};
  for (const Witness* side : {&a, &b}) name.receipts.push_back(HashBytes(AsBytes(*side->receipt)));
  const Digest dispute = DisputeId(name);
  for (std::size_t s = 0; s < 2; ++s) {
    const Witness& side = s == 0 ? a : b;
    for (const auto& [question, body] : side.said) {
      const SignedBy by{static_cast<ProviderId>(s), Sign(Encode(dispute, question), body, *side.key).signature};
      const auto same = std::ranges::find_if(
          evidence.statements, [&](const Statement& known) { return known.question == question && known.body == body; });
      trial.said[s].push_back(static_cast<StatementId>(same - evidence.statements.begin()));
      if (same != evidence.statements.end()) {
        same->by.push_back(by);
      } else {
        evidence.statements.push_back({question, body, {by}});
      }
    }
    if (finding.strikes(s == 0 ? Party::kA : Party::kB)) trial.convicted.push_back(static_cast<ProviderId>(s));
  }
  evidence.charges.emplace_back(std::move(trial));
  return evidence;
}

}  // namespace assay::dispute
