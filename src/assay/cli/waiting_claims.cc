#include "assay/cli/waiting_claims.h"

#include <functional>

#include <fmt/format.h>

#include "assay/cli/hearings.h"

namespace assay::cli {
namespace {

using dispute::Standing;

// Whether this holds of anybody's claim and standing.
bool Any(const dispute::Arbitration& result, const std::function<bool(const dispute::Claim&, Standing)>& is) {
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    if (is(result.claims[i], result.record.providers[i].standing)) return true;
  }
  return false;
}

// Everybody of another key who stands, at all addresses.
std::vector<std::size_t> OpponentsOf(const dispute::Arbitration& result, std::size_t waiting) {
  std::vector<std::size_t> opponents;
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    const bool takes_part =
        dispute::TakesPart(result.record.providers[i].standing) || result.record.providers[i].standing == Standing::kRepeated;
    if (!takes_part || result.claims[i].signer.point() == result.claims[waiting].signer.point()) continue;
    if (result.record.providers[PartyOf(result, i)].standing == Standing::kStanding) opponents.push_back(i);
  }
  return opponents;
}

}  // namespace

std::vector<WaitingClaim> LeftWaiting(const dispute::Arbitration& result, const std::string& verdict) {
  std::vector<WaitingClaim> waiting, hidden;
  for (std::size_t i = 0; i < result.claims.size(); ++i) {
    if (!result.record.providers[i].waits) continue;
    const dispute::Claim& claim = result.claims[i];
    const auto same_key = [&](const dispute::Claim& other) { return other.signer.point() == claim.signer.point(); };
    const bool settled = Any(result, [&](const dispute::Claim& other, Standing standing) {
      return (standing == Standing::kStanding && GroupOf(other) == GroupOf(claim)) || (IsGuilty(standing) && same_key(other));
    });
    if (settled) continue;
    const bool in_vain = Any(result, [&](const dispute::Claim& other, Standing standing) {
      return (standing == Standing::kSilent || standing == Standing::kUnheard) && same_key(other);
    });
    // Others can be disputed with it; where it has only its own key to differ from, it takes nothing from the claim that stands.
    const bool hides = verdict == "both" || (verdict != "undecided" && !OpponentsOf(result, i).empty());
    if (in_vain || hides) (in_vain ? waiting : hidden).push_back({i, in_vain});
  }
  waiting.insert(waiting.end(), hidden.begin(), hidden.end());
  return waiting;
}

std::string WaitingReason(const WaitingClaim& waiting, const std::vector<std::string>& labels) {
  return fmt::format("{} was not heard: another claim of its key took its place, and {}", labels[waiting.provider],
                     waiting.in_vain ? "gave no answer" : "nobody who stands claims the same");
}

std::string WaitingDecidedBy(const WaitingClaim& waiting, const dispute::Arbitration& result) {
  const std::string& name = result.names[waiting.provider];
  const bool opponent = Any(result, [&](const dispute::Claim& other, Standing) {
    return other.signer.point() != result.claims[waiting.provider].signer.point();
  });
  // Without the other claims of the key there may be nobody left to dispute with.
  if (!opponent) return fmt::format("a dispute of {} with a provider of another key, or an audit", name);
  return fmt::format("a dispute with {} and without the other claim of its key", name);
}

std::vector<NextStep> WaitingSteps(const std::vector<WaitingClaim>& waiting, const dispute::Arbitration& result,
                                   const std::vector<std::string>& labels, const NextContext& context) {
  std::vector<NextStep> next;
  for (const WaitingClaim& claim : waiting) {
    // Of one whose place was taken in vain, those who are left may have won by that alone.
    const std::vector<std::size_t> opponents = OpponentsOf(result, claim.provider);
    if (claim.in_vain || opponents.empty()) continue;
    std::vector<std::string> urls = {result.names[claim.provider]};
    for (const std::size_t opponent : opponents) urls.push_back(result.names[opponent]);
    NextStep step{.hear = labels[claim.provider], .name = result.names[claim.provider], .waits = true};
    step.commands = {DisputeCommand(urls, context.referee_key, fmt::format("waiting-{}", step.hear), context)};
    next.push_back(std::move(step));
  }
  return next;
}

}  // namespace assay::cli
