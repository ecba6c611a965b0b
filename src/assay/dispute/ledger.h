// Ledger: the record of a game while it is played: who stands, which statements were noted, who fell by which charge. Value type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assay/dispute/game_record.h"

namespace assay::dispute {

class Ledger {
 public:
  // Of claims that have been enlisted (roster.h).
  explicit Ledger(Record record) : record_(std::move(record)) {}

  const Record& record() const { return record_; }
  bool Stands(ProviderId provider) const { return record_.providers[provider].standing == Standing::kStanding; }
  bool GroupStands(std::uint32_t group) const;
  std::vector<ProviderId> StandingOf(std::uint32_t group) const;

  // The statement of these words, signed by these providers beside those who are noted already.
  StatementId Note(const Digest& hash, const Question& question, const Bytes& body, std::span<const SignedBy> by);
  // Returns the charge's position.
  std::size_t Accuse(Charge charge);
  // `provider` stands. No charge: it was not heard.
  void Fall(ProviderId provider, Standing standing, std::string why, std::optional<std::size_t> charge);
  // What was said in a match that was drawn, as long as its groups stand and there is room.
  void KeepDrawn(DrawnMatch drawn);
  void Add(MatchRecord match) { record_.matches.push_back(std::move(match)); }

 private:
  Record record_;
  std::map<std::pair<Digest, Digest>, StatementId> noted_;  // by question and words
};

}  // namespace assay::dispute
