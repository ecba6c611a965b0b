#include "assay/platform/outcome.h"

#include <algorithm>

namespace assay::platform {
namespace {

using dispute::Standing;
using life::LeaseNumber;

constexpr std::size_t kMaxWords = 1000;

bool Contains(const std::vector<LeaseNumber>& list, LeaseNumber number) {
  return std::ranges::find(list, number) != list.end();
}

bool IsProven(const dispute::Judgement& judgement, std::uint32_t number) {
  return std::ranges::any_of(judgement.parties, [&](const dispute::Judgement::Party& party) {
    return party.number == number && dispute::IsGuilty(party.standing) && party.proven;
  });
}

// Whether all who are left promise the same.
bool LeavesOnePromise(const life::Life& life, const life::Judged& judged) {
  const life::Lease* left = nullptr;
  for (const LeaseNumber number : judged.among) {
    if (Contains(judged.convicted, number) || Contains(judged.silent, number)) continue;
    const life::Lease* run = life.Find(number);
    if (left != nullptr && !SamePromise(*left->receipt, *run->receipt)) return false;
    left = run;
  }
  return true;
}

}  // namespace

life::Judged JudgedBy(const life::Life& life, const std::vector<LeaseNumber>& among, const dispute::Arbitration& result,
                      const dispute::Judgement& judgement, const Digest& evidence) {
  life::Judged judged{.among = among, .evidence = evidence.hex()};
  std::vector<Standing> standings;
  std::vector<std::optional<std::uint32_t>> groups;
  const auto say = [&](LeaseNumber lease, std::string_view why) {
    if (!why.empty()) judged.words += fmt::format("{}lease {}: {}", judged.words.empty() ? "" : "; ", lease, why);
  };
  for (std::size_t i = 0; i < result.record.providers.size(); ++i) {
    const dispute::ProviderRecord& provider = result.record.providers[i];
    const LeaseNumber lease = among.at(result.numbers[i]);
    standings.push_back(provider.standing);
    groups.push_back(provider.group);
    say(lease, provider.why);
    if (provider.standing == Standing::kStanding || provider.standing == Standing::kUnheard ||
        provider.standing == Standing::kRepeated)
      continue;
    (IsProven(judgement, result.numbers[i]) ? judged.convicted : judged.silent).push_back(lease);
  }
  for (const dispute::Arbitration::Absent& absent : result.absent) {
    judged.silent.push_back(among.at(absent.number));
    say(among.at(absent.number), absent.why);
  }
  std::ranges::sort(judged.convicted);
  std::ranges::sort(judged.silent);
  for (const dispute::MatchRecord& match : result.record.matches) {
    if (!match.drawn.empty()) judged.words += fmt::format("{}{}", judged.words.empty() ? "" : "; ", match.drawn);
  }
  judged.words.resize(std::min(judged.words.size(), kMaxWords));
  const bool open = dispute::VerdictOf(standings, groups, result.numbers, result.evidence.pair) == "undecided";
  judged.decided = !open && LeavesOnePromise(life, judged);
  return judged;
}

Status CheckConvictions(const life::Life& life, const life::Judged& judged, ByteSpan evidence,
                        const dispute::StartingBytes& start) {
  if (judged.convicted.empty()) return {};
  if (HashBytes(evidence).hex() != judged.evidence) return Err("evidence: is not the one that is named, {}", judged.evidence);
  ASSAY_ASSIGN(const dispute::Evidence decoded, dispute::DecodeEvidence(evidence));
  ASSAY_ASSIGN(const dispute::Judgement judgement, dispute::Judge(decoded, start));
  if (judgement.job != life.order().job)
    return Err("evidence: is about job {}, the order is for {}", judgement.job.hex(), life.order().job.hex());
  for (const LeaseNumber number : judged.convicted) {
    const life::Lease* lease = life.Find(number);
    if (lease == nullptr) return Err("there is no lease {}", number);
    const auto party = std::ranges::find(decoded.parties, lease->receipt_file, &dispute::Evidence::Party::receipt);
    if (party == decoded.parties.end() || !IsProven(judgement, party->number))
      return Err("evidence {}: does not convict the worker of lease {}", judged.evidence, number);
  }
  return {};
}

}  // namespace assay::platform
