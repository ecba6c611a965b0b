// Crafted: evidence about forged parties (forged.h) that no referee would write. Its statements are signed at the end by whoever is to have said them, so that
// whatever is put together here, its signatures hold. Not synchronised.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "assay/dispute/evidence.h"
#include "forged.h"
#include "play.h"

namespace assay::dispute {

enum class Parties {
  kProviders,   // each with a key of its own
  kCompared,    // the same, compared on one machine
  kOfOneSigner  // compared on one machine, under one key that has another name in each receipt
};

class Crafted {
 public:
  // `terms` must outlive it.
  explicit Crafted(const Terms& terms, Parties parties = Parties::kProviders) : terms_(terms), who_(parties) {}

  ProviderId Add(std::optional<TreeName> lie, Forgeries forgeries = {});
  // Another key that promises what this party does, and has nothing to say for itself.
  ProviderId AddLike(ProviderId party);
  // Signs the party's receipt again, changed; or hands in another beside it.
  using ReceiptChange = std::function<void(Receipt&)>;
  void Rewrite(ProviderId party, const ReceiptChange& change) { parties_[party].receipt = Resigned(party, change); }
  void HandIn(ProviderId party, const ReceiptChange& change) { others_.push_back(Resigned(party, change)); }
  // Plays the two by the law alone. What they said becomes statements and the lists of a trial, which names whoever is struck; where nothing is found, the
  // second, with a finding of the cause output.
  Trial Tried(ProviderId a, ProviderId b);
  // The law's last word on what was played.
  const Outcome& outcome() const { return outcome_; }

  // A statement of these parties. The same words are one statement.
  StatementId Say(const Question& question, Bytes body, const std::vector<ProviderId>& by);
  Bytes Answer(ProviderId party, const Question& question) { return parties_[party].forged.Answer(question).value(); }
  const Statement& statement(StatementId id) const { return statements_[id]; }

  // Of these charges. Statements on which none of them rests are left out if `tidy`.
  Evidence Make(std::vector<Charge> charges, bool tidy = true) const;

 private:
  struct Party {
    Forged forged;
    SigningKey key;
    std::string receipt;
  };
  std::string Resigned(ProviderId party, const ReceiptChange& change) const;

  const Terms& terms_;
  const Parties who_;
  std::deque<Party> parties_;
  std::vector<std::string> others_;
  std::vector<Statement> statements_;
  Outcome outcome_;
};

}  // namespace assay::dispute
