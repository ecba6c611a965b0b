// Evidence of games over the toy job.
#pragma once

#include "assay/dispute/evidence.h"
#include "toy.h"

namespace assay::dispute::toy {

inline Evidence EvidenceOf(const Record& record) {
  Evidence evidence;
  for (const ProviderRecord& provider : record.providers) evidence.parties.push_back({"", provider.standing});
  evidence.statements = record.statements;
  evidence.charges = record.charges;
  return evidence;
}

// What is wrong with the evidence of a game; empty: it is read back, and convicts exactly those who fell by more than silence.
inline std::string CheckEvidence(const Law& law, const std::vector<Claim>& claims, const Record& record) {
  const Evidence evidence = EvidenceOf(record);
  const Result<Evidence> read = DecodeEvidence(Encode(evidence));
  if (!read) return read.error().message;
  const Result<Judgement> judgement = JudgeBy(law, claims, *read);
  if (!judgement) return judgement.error().message;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Standing standing = record.providers[i].standing;
    if (judgement->parties[i].standing != standing) return fmt::format("provider {} has another standing", i);
    if (judgement->parties[i].proven == (standing == Standing::kSilent)) {
      return fmt::format("provider {} is {}: {}", i, ToString(standing), judgement->parties[i].by);
    }
  }
  return "";
}

}  // namespace assay::dispute::toy
