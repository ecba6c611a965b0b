// Strangers: what liars do to honest providers behind the referee's back. They speak to them directly, hand on what they were asked themselves, open disputes of their own with receipts
// that they made up, ask anything in them, play whole disputes as their referee, and keep every signed answer that they get. They sign with keys of their own only.
//
// Not synchronised.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "desk.h"
#include "dice.h"
#include "stage.h"

namespace assay::dispute {

// What liars have come to hold.
struct Loot {
  struct Heard {
    Key by = 0;
    Digest dispute{};
    Question question;
    Answer answer;
  };
  std::vector<Heard> answers;                          // signed by the honest
  std::vector<std::pair<Bytes, Signature>> questions;  // of the true referee, as liars were asked them
  std::vector<Bytes> openings;                         // the same
  std::vector<Evidence> evidence;                      // of all disputes that were refereed
};

// Keys of nobody: strangers put claims under them.
inline constexpr Key kPuppets = 6;
inline constexpr Key kFirstPuppet = kKeys - kPuppets;

struct Deeds {
  std::size_t answered = 0, denied = 0;  // questions that were put to the honest directly
  std::size_t replays = 0;               // of those, that the true referee had signed for somebody
  std::size_t learnt = 0;                // answers to questions that it had not
  std::size_t games = 0;                 // disputes refereed
};

class Strangers {
 public:
  // All must outlive it. `second`: a referee whom the honest have named is one of them.
  Strangers(const Stage& stage, Dice& dice, std::vector<Desk*> desks, Loot& loot, bool second)
      : stage_(stage), dice_(dice), desks_(std::move(desks)), loot_(loot), second_(second) {}

  void Act(const Digest& dispute);  // one of them does something; `dispute`: the true one
  // One of them plays a whole dispute as its referee and leaves the evidence in the loot. What is wrong with the record of it; empty: no honest party is guilty by it.
  std::string Referee();

  const Deeds& deeds() const { return deeds_; }

 private:
  Key SomeReferee() {
    return second_ && dice_.One(2) ? kSecondReferee : kHostileReferee + static_cast<Key>(dice_.Below(kHostileReferees));
  }
  Digest SomeNonce();
  void Put(Desk& desk, ByteSpan question, const Signature& signature);
  void Replay();
  void Open(Desk& desk);
  void AskAnything(Desk& desk, const Digest& dispute, Key referee);
  Bytes OpeningOf(Key referee, const Digest& nonce, std::vector<Digest> receipts, const std::string& shown);

  const Stage& stage_;
  Dice& dice_;
  std::vector<Desk*> desks_;
  Loot& loot_;
  bool second_;
  std::vector<std::pair<Digest, Key>> open_;  // disputes of theirs
  Deeds deeds_;
};

}  // namespace assay::dispute
