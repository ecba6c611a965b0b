// Edits: evidence as liars would like it: taken from what disputes have left behind, and changed. Charges, statements and parties are appended, dropped, doubled and spliced in from elsewhere;
// statements are changed and signed again with keys that liars have; trials are turned round, with the finding that then follows; answers that were got directly from the honest are put in.
#pragma once

#include <string>
#include <vector>

#include "dice.h"
#include "stage.h"
#include "strangers.h"

namespace assay::dispute {

class Editor {
 public:
  // All must outlive it. `keys`: those that liars have.
  Editor(const Stage& stage, Dice& dice, const Loot& loot, std::vector<Key> keys)
      : stage_(stage), dice_(dice), loot_(loot), keys_(std::move(keys)) {}

  // Of a piece of evidence in the loot, of which there must be some.
  Evidence Edited();

 private:
  void Change(Evidence& evidence);
  void Drop(Evidence& evidence);
  void Double(Evidence& evidence);
  void Splice(Evidence& evidence);
  void Accuse(Evidence& evidence);
  void Insert(Evidence& evidence);
  void SignAgain(Evidence& evidence);
  void Relabel(Evidence& evidence);
  void Turn(Evidence& evidence);
  void Unsign(Evidence& evidence);
  void Join(Evidence& evidence);
  void Flip(Evidence& evidence);

  // The charges and statements that the evidence would still have if nothing were left over.
  void Tidy(Evidence& evidence) const;
  Digest DisputeOf(const Evidence& evidence) const;
  std::optional<Key> OwnKeyOf(const Evidence::Party& party) const;
  std::optional<std::uint32_t> PlaceOf(const Evidence& evidence, Key key) const;
  // Now and then one more than there are.
  std::uint32_t Some(std::size_t of) {
    return static_cast<std::uint32_t>(dice_.Below(of + (of == 0 || dice_.One(20) ? 1 : 0)));
  }
  std::uint32_t SomeParty(const Evidence& evidence) { return Some(evidence.parties.size()); }
  std::uint32_t SomeStatement(const Evidence& evidence) { return Some(evidence.statements.size()); }

  const Stage& stage_;
  Dice& dice_;
  const Loot& loot_;
  std::vector<Key> keys_;
};

// What a judge makes of it, whether or not it has an encoding: a reader is stricter still.
struct Verdict {
  bool valid = false;
  std::size_t guilty = 0;  // parties that are shown to be guilty
  std::string wrong{};     // an honest party is among them
};
Verdict Weighed(const Stage& stage, const Evidence& evidence, const std::vector<KeyPoint>& honest);

}  // namespace assay::dispute
