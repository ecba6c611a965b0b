#include "assay/dispute/roster.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace assay::dispute {
namespace {

// Of keys with several claims that do not contradict each other (runs of rounded jobs): what the one that takes part promises. What a key signs in a dispute
// could otherwise be held against another of its claims.
std::map<KeyPoint, Digest> KeptClaims(const Law& law, const std::vector<Claim>& claims) {
  std::map<KeyPoint, const Claim*> least;
  std::map<KeyPoint, Digest> kept;
  if (!law.one_claim_per_key) return kept;
  for (const Claim& claim : claims) {
    if (!law.check(claim)) continue;
    const auto [first, fresh] = least.emplace(claim.signer.point(), &claim);
    if (!fresh && claim.receipt_hash.bytes < first->second->receipt_hash.bytes) first->second = &claim;
  }
  for (const auto& [key, claim] : least) {
    const bool contradicts = std::ranges::any_of(claims, [&, mine = claim](const Claim& other) {
      return other.signer.point() == mine->signer.point() && law.check(other) && law.group(other) != law.group(*mine) &&
             law.contradict(*mine, other);
    });
    if (!contradicts) kept.emplace(key, law.group(*claim));
  }
  return kept;
}

void Equivocal(Record& record, ProviderId first, ProviderId second) {
  const auto stands = [&](ProviderId id) { return record.providers[id].standing == Standing::kStanding; };
  if (!stands(first) && !stands(second)) return;  // both are out already
  for (const ProviderId id : {first, second}) {
    if (!stands(id)) continue;
    ProviderRecord& provider = record.providers[id];
    provider.standing = Standing::kEquivocated;
    provider.why = "signed two receipts for one job that contradict each other";
    provider.charge = record.charges.size();
  }
  record.charges.emplace_back(std::in_place_type<TwoReceipts>, TwoReceipts{first, second});
}

}  // namespace

Roster Enlist(const Law& law, const std::vector<Claim>& claims) {
  Roster roster;
  Record& record = roster.record;
  record.providers.resize(claims.size());
  roster.parties.resize(claims.size());
  std::iota(roster.parties.begin(), roster.parties.end(), ProviderId{0});
  std::map<KeyPoint, std::vector<ProviderId>> keys;  // who takes part under it
  std::map<Digest, std::vector<ProviderId>> groups;  // by what they claim
  std::vector<Digest> least(claims.size());          // of the receipts that were handed in for it
  const std::map<KeyPoint, Digest> kept = KeptClaims(law, claims);
  for (ProviderId id = 0; id < claims.size(); ++id) {
    const Claim& claim = claims[id];
    ProviderRecord& provider = record.providers[id];
    const auto leave_out = [&](Standing standing, std::string why) {
      provider.standing = standing;
      provider.why = std::move(why);
    };
    if (const Status good = law.check(claim); !good) {
      leave_out(Standing::kRefused, good.error().message);
      continue;
    }
    const Digest group = law.group(claim);
    if (const auto takes_part = kept.find(claim.signer.point()); takes_part != kept.end() && takes_part->second != group) {
      leave_out(Standing::kRefused, "another claim of the same key takes part; this one needs a dispute of its own");
      provider.waits = true;
      continue;
    }
    record.receipts.push_back(claim.receipt_hash);
    least[id] = claim.receipt_hash;
    std::vector<ProviderId>& before = keys[claim.signer.point()];
    const auto same = std::ranges::find_if(before, [&](ProviderId other) { return law.group(claims[other]) == group; });
    if (same != before.end()) {
      leave_out(Standing::kRepeated, fmt::format("claims the same as provider {} under the same key", *same));
      roster.parties[id] = *same;
      least[*same] = std::min(least[*same], claim.receipt_hash);
      record.providers[*same].follows = record.providers[*same].follows && claim.receipt.follows.has_value();
      continue;
    }
    provider.follows = claim.receipt.follows.has_value();
    groups[group].push_back(id);
    before.push_back(id);
  }
  std::ranges::sort(record.receipts);
  record.receipts.erase(std::ranges::unique(record.receipts).begin(), record.receipts.end());
  for (auto& [group, members] : groups) {
    std::ranges::sort(members, {}, [&](ProviderId id) { return least[id]; });
    for (const ProviderId id : members) record.providers[id].group = static_cast<std::uint32_t>(record.groups.size());
    record.groups.push_back(std::move(members));
  }
  for (const auto& [key, ids] : keys) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (law.contradict(claims[ids[j]], claims[ids[i]])) Equivocal(record, ids[j], ids[i]);
      }
    }
  }
  record.dispute = law.dispute(record.receipts);
  record.parties = Survivors(record).size();
  return roster;
}

}  // namespace assay::dispute
