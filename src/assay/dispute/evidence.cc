#include "assay/dispute/evidence.h"

#include <algorithm>
#include <map>

#include "assay/base/check.h"

namespace assay::dispute {
namespace {

template <class F>
void ForEachProvider(Charge& charge, const F& visit) {
  if (auto* trial = std::get_if<Trial>(&charge)) {
    for (ProviderId& id : trial->claims) visit(id);
    for (ProviderId& id : trial->convicted) visit(id);
  } else if (auto* log = std::get_if<UnprovenLog>(&charge)) {
    visit(log->provider);
  } else if (auto* answers = std::get_if<TwoAnswers>(&charge)) {
    visit(answers->provider);
  } else if (auto* receipts = std::get_if<TwoReceipts>(&charge)) {
    visit(receipts->first);
    visit(receipts->second);
  } else if (auto* silence = std::get_if<Silence>(&charge)) {
    visit(silence->provider);
  } else if (auto* draw = std::get_if<Draw>(&charge)) {
    for (ProviderId& id : draw->claims) visit(id);
  }
}

// The place of a statement with these words, its signers added.
StatementId Join(std::vector<Statement>& statements, const Statement& said) {
  const auto same = std::ranges::find_if(
      statements, [&](const Statement& other) { return other.question == said.question && other.body == said.body; });
  if (same == statements.end()) {
    statements.push_back(said);
    return static_cast<StatementId>(statements.size() - 1);
  }
  for (const SignedBy& by : said.by) {
    const auto place = std::ranges::lower_bound(same->by, by.provider, {}, &SignedBy::provider);
    if (place == same->by.end() || place->provider != by.provider) same->by.insert(place, by);
  }
  return static_cast<StatementId>(same - statements.begin());
}

std::size_t BytesOf(const std::vector<Statement>& statements) {
  std::size_t bytes = 0;
  for (const Statement& statement : statements) bytes += statement.body.size();
  return bytes;
}

// Why those who stand do so side by side. Left out where it could make evidence too long that convicts somebody.
void AddDraw(const Record& record, Evidence& evidence) {
  const auto stands = [&](ProviderId id) {
    return std::ranges::any_of(record.groups[*record.providers[id].group],
                               [&](ProviderId member) { return record.providers[member].standing == Standing::kStanding; });
  };
  const auto drawn = std::find_if(record.drawn.rbegin(), record.drawn.rend(),
                                  [&](const DrawnMatch& match) { return stands(match.claims[0]) && stands(match.claims[1]); });
  if (drawn == record.drawn.rend()) return;
  if (BytesOf(evidence.statements) + BytesOf(drawn->said[0]) + BytesOf(drawn->said[1]) > kMaxEvidenceBytes / 2) return;
  Draw draw;
  for (std::size_t s = 0; s < 2; ++s) {
    draw.claims[s] = drawn->claims[s];
    for (const Statement& said : drawn->said[s]) draw.said[s].push_back(Join(evidence.statements, said));
  }
  evidence.charges.emplace_back(std::move(draw));
}

}  // namespace

Evidence RenumberedEvidence(const Record& record, std::span<const std::uint32_t> numbers) {
  ASSAY_CHECK(numbers.size() == record.providers.size());
  Evidence evidence{.job = {}, .program = {}};
  std::vector<ProviderId> places(record.providers.size(), 0);
  for (std::size_t i = 0; i < record.providers.size(); ++i) {
    if (!TakesPart(record.providers[i].standing)) continue;
    places[i] = static_cast<ProviderId>(evidence.parties.size());
    evidence.parties.push_back({.receipt = "", .number = numbers[i]});
  }
  evidence.statements = record.statements;
  evidence.charges = record.charges;
  AddDraw(record, evidence);
  for (Statement& statement : evidence.statements) {
    for (SignedBy& by : statement.by) by.provider = places[by.provider];
  }
  for (Charge& charge : evidence.charges) {
    ForEachProvider(charge, [&](ProviderId& id) { id = places[id]; });
  }
  return evidence;
}

Evidence MakeEvidence(const Terms& terms, const LawOptions& options, std::span<const std::string> receipts,
                      std::span<const std::uint32_t> numbers, const Record& record) {
  Evidence evidence = MakeEvidence(options, receipts, numbers, record);
  evidence.job = terms.job_bytes();
  evidence.program = terms.program_bytes();
  return evidence;
}

Evidence MakeEvidence(const LawOptions& options, std::span<const std::string> receipts, std::span<const std::uint32_t> numbers,
                      const Record& record) {
  Evidence evidence = RenumberedEvidence(record, numbers);
  evidence.referee = options.referee;
  evidence.nonce = options.nonce;
  evidence.pair = options.pair;
  std::map<Digest, std::string> others;
  std::size_t place = 0;
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    if (TakesPart(record.providers[i].standing)) evidence.parties[place++].receipt = receipts[i];
    if (record.providers[i].standing == Standing::kRepeated) others.emplace(HashBytes(AsBytes(receipts[i])), receipts[i]);
  }
  for (const Evidence::Party& party : evidence.parties) others.erase(HashBytes(AsBytes(party.receipt)));
  for (auto& [hash, receipt] : others) evidence.others.push_back(std::move(receipt));
  return evidence;
}

}  // namespace assay::dispute
