#include "assay/platform/outcome.h"

#include <algorithm>
#include <set>
#include <string>

#include "assay/dispute/evidence_files.h"

namespace assay::platform {
namespace {

using dispute::Standing;
using life::LeaseNumber;

constexpr std::size_t kMaxWords = 1000;

bool Contains(const std::vector<LeaseNumber>& list, LeaseNumber number) {
  return std::ranges::find(list, number) != list.end();
}

// The numbers of those whom a file of evidence convicts.
std::set<std::uint32_t> ConvictedBy(const dispute::Judgement& judgement) {
  std::set<std::uint32_t> convicted;
  for (const dispute::Judgement::Party& party : judgement.parties) {
    if (dispute::IsGuilty(party.standing) && party.proven) convicted.insert(party.number);
  }
  return convicted;
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

// `proven`: numbers of those whom evidence convicts.
life::Judged JudgedBy(const life::Life& life, const std::vector<LeaseNumber>& among, const dispute::Arbitration& result,
                      const std::set<std::uint32_t>& proven) {
  life::Judged judged{.among = among};
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
    (proven.contains(result.numbers[i]) ? judged.convicted : judged.silent).push_back(lease);
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

}  // namespace

Result<Ruling> RulingOn(const life::Life& life, const std::vector<LeaseNumber>& among, const dispute::Arbitration& result,
                        const dispute::StartingBytes& start, const dispute::EvidenceLimits& limits) {
  Ruling ruling;
  const dispute::EvidenceFiles files = dispute::InFiles(result.evidence, limits);
  std::set<std::uint32_t> proven;
  std::vector<std::string> names;
  const auto keep = [&](const dispute::Evidence& file) {
    ruling.evidence.push_back(dispute::Encode(file));
    names.push_back(HashBytes(ruling.evidence.back()).hex());
  };
  for (const dispute::Evidence& file : files.files) {
    ASSAY_ASSIGN(const dispute::Judgement judgement, dispute::Judge(file, start));
    const std::set<std::uint32_t> convicted = ConvictedBy(judgement);
    if (std::ranges::includes(proven, convicted) || names.size() == life::kMaxEvidenceFiles) continue;
    proven.insert(convicted.begin(), convicted.end());
    keep(file);
  }
  if (names.empty() && !files.files.empty()) keep(files.files.front());
  ruling.judged = JudgedBy(life, among, result, proven);
  ruling.judged.evidence = std::move(names);
  ASSAY_TRY(CheckConvictions(life, ruling.judged, ruling.evidence, start));
  return ruling;
}

Status CheckConvictions(const life::Life& life, const life::Judged& judged, std::span<const Bytes> evidence,
                        const dispute::StartingBytes& start) {
  if (judged.convicted.empty()) return {};
  if (evidence.size() != judged.evidence.size())
    return Err("evidence: there are {} files, {} are named", evidence.size(), judged.evidence.size());
  std::set<std::string> receipts;  // of those who are convicted
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    if (HashBytes(evidence[i]).hex() != judged.evidence[i])
      return Err("evidence: is not the one that is named, {}", judged.evidence[i]);
    ASSAY_ASSIGN(const dispute::Evidence file, dispute::DecodeEvidence(evidence[i]));
    ASSAY_ASSIGN(const dispute::Judgement judgement, dispute::Judge(file, start));
    if (judgement.job != life.order().job)
      return Err("evidence: is about job {}, the order is for {}", judgement.job.hex(), life.order().job.hex());
    const std::set<std::uint32_t> convicted = ConvictedBy(judgement);
    for (const dispute::Evidence::Party& party : file.parties) {
      if (convicted.contains(party.number)) receipts.insert(party.receipt);
    }
  }
  for (const LeaseNumber number : judged.convicted) {
    const life::Lease* lease = life.Find(number);
    if (lease == nullptr) return Err("there is no lease {}", number);
    if (!receipts.contains(lease->receipt_file))
      return Err("evidence {}: does not convict the worker of lease {}", fmt::join(judged.evidence, ", "), number);
  }
  return {};
}

}  // namespace assay::platform
