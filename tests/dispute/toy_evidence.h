// Evidence of games over the toy job.
#pragma once

#include <numeric>

#include "assay/dispute/evidence.h"
#include "toy.h"

namespace assay::dispute::toy {

// Of those who took part, who are numbered as the game had them.
inline Evidence EvidenceOf(const Record& record) {
  std::vector<std::uint32_t> numbers(record.providers.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  return RenumberedEvidence(record, numbers);
}
inline std::vector<Claim> PartiesOf(const std::vector<Claim>& claims, const Record& record) {
  std::vector<Claim> parties;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (TakesPart(record.providers[i].standing)) parties.push_back(claims[i]);
  }
  return parties;
}

// What is wrong with the evidence of a game; empty: it is read back, and convicts exactly those who fell by more than silence.
inline std::string CheckEvidence(const Law& law, const std::vector<Claim>& claims, const Record& record) {
  const Evidence evidence = EvidenceOf(record);
  const Result<Evidence> read = DecodeEvidence(Encode(evidence));
  if (!read) return read.error().message;
  const Result<Judgement> judgement = JudgeBy(law, PartiesOf(claims, record), *read);
  if (!judgement) return judgement.error().message;
  for (const Judgement::Party& party : judgement->parties) {
    const Standing standing = record.providers[party.number].standing;
    if (party.standing != standing) return fmt::format("provider {} has another standing", party.number);
    if (party.proven == (standing == Standing::kSilent)) {
      return fmt::format("provider {} is {}: {}", party.number, ToString(standing), party.by);
    }
  }
  return "";
}

}  // namespace assay::dispute::toy
