// CheckedLife: the life of an order as its client believes it (docs/formats/life.md): every entry follows from those before, the coordinator's signature is over
// exactly these entries, nothing that was shown before has changed, and whoever is convicted is convicted by evidence that is judged again here.
//
// It takes nothing from the network: who reads a life, and who checks a delivered one offline, use the same class. Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/client/trouble.h"
#include "assay/dispute/evidence.h"
#include "assay/life/life.h"
#include "assay/sign/key.h"
#include "assay/sign/note.h"
#include "assay/sign/witness.h"

namespace assay::client {

struct LifeTerms {
  std::string id;                       // of the order
  VerifyKey coordinator;                // who signs the life
  std::vector<WitnessKey> witnesses{};  // who have to have cosigned every checkpoint
  std::string envelope{};               // the order as it was made; empty: not known here, and then
  std::vector<VerifyKey> clients{};     // it has to be signed by one of these
  bool insists = true;                  // if it is not, that is refused; otherwise it only cannot be told whose order it is
  dispute::StartingBytes start{};       // of a job that starts from a file of weights, for the judge
};

class CheckedLife {
 public:
  explicit CheckedLife(LifeTerms terms) : terms_(std::move(terms)) {}

  // Continues with `entries`, after which the life has to be the one that `note` is over. `before`: the longest checkpoint that was seen at any time. An error
  // leaves it as it was.
  Checked<void> Continue(const std::vector<std::string>& entries, const std::string& note,
                         const std::optional<std::string>& before);

  // Disputes whose evidence has not been gone through; nothing that follows from such a life counts.
  std::vector<life::Judged> Unproven() const;
  // Goes through the evidence of the first of them: the files that it names, in their order.
  Checked<void> Prove(std::vector<Bytes> evidence);

  const LifeTerms& terms() const { return terms_; }
  const life::Life& life() const { return life_; }
  const std::vector<std::string>& entries() const { return entries_; }
  const std::string& note() const { return note_; }
  const std::map<std::string, Bytes>& evidence() const { return evidence_; }  // by its hash
  std::uint64_t size() const { return entries_.size(); }

 private:
  Checked<void> CheckOrder(const life::Entry& first, const std::string& envelope) const;
  // That `head` is over a life of these leaves, and that this is the life that was seen before.
  Checked<void> CheckHistory(const Checkpoint& head, const std::vector<Digest>& leaves,
                             const std::optional<std::string>& before) const;

  LifeTerms terms_;
  life::Life life_;
  std::vector<std::string> entries_;
  std::vector<Digest> leaves_;
  std::string note_;
  std::map<std::string, Bytes> evidence_;
  std::size_t proven_ = 0;  // disputes of the life, from the first on, that need no further proof
};

// What of a decided life rests on somebody's word alone, and whose, a line each.
std::vector<std::string> TakenOnTrust(const life::Life& life);

}  // namespace assay::client
