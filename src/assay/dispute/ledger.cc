#include "assay/dispute/ledger.h"

#include <algorithm>

#include "assay/base/check.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kMaxDrawnBytes = std::size_t{16} << 20;

}  // namespace

bool Ledger::GroupStands(std::uint32_t group) const {
  return std::ranges::any_of(record_.groups[group], [&](ProviderId id) { return Stands(id); });
}

std::vector<ProviderId> Ledger::StandingOf(std::uint32_t group) const {
  std::vector<ProviderId> standing;
  std::ranges::copy_if(record_.groups[group], std::back_inserter(standing), [&](ProviderId id) { return Stands(id); });
  return standing;
}

StatementId Ledger::Note(const Digest& hash, const Question& question, const Bytes& body, std::span<const SignedBy> by) {
  const auto next = static_cast<StatementId>(record_.statements.size());
  const auto [noted, fresh] = noted_.emplace(std::pair{hash, HashBytes(body)}, next);
  if (fresh) record_.statements.push_back({question, body, {}});
  std::vector<SignedBy>& signers = record_.statements[noted->second].by;
  for (const SignedBy& signer : by) {
    const auto place = std::ranges::lower_bound(signers, signer.provider, {}, &SignedBy::provider);
    if (place == signers.end() || place->provider != signer.provider) signers.insert(place, signer);
  }
  return noted->second;
}

void Ledger::KeepDrawn(DrawnMatch drawn) {
  const auto fell = [&](ProviderId id) { return !GroupStands(*record_.providers[id].group); };
  std::erase_if(record_.drawn, [&](const DrawnMatch& match) { return fell(match.claims[0]) || fell(match.claims[1]); });
  record_.drawn.push_back(std::move(drawn));
  std::size_t bytes = 0, kept = 0;
  for (auto match = record_.drawn.rbegin(); match != record_.drawn.rend(); ++match, ++kept) {
    for (const auto& side : match->said) {
      for (const Statement& said : side) bytes += said.body.size();
    }
    if (kept > 0 && bytes > kMaxDrawnBytes) break;
  }
  record_.drawn.erase(record_.drawn.begin(), record_.drawn.end() - static_cast<std::ptrdiff_t>(kept));
}

std::size_t Ledger::Accuse(Charge charge) {
  record_.charges.push_back(std::move(charge));
  return record_.charges.size() - 1;
}

void Ledger::Fall(ProviderId provider, Standing standing, std::string why, std::optional<std::size_t> charge) {
  ProviderRecord& record = record_.providers[provider];
  ASSAY_CHECK(record.standing == Standing::kStanding);
  record.standing = standing;
  record.why = std::move(why);
  record.charge = charge;
}

}  // namespace assay::dispute
