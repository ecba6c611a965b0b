// Side: one of the two groups of a match, as the voices that speak for it. Members who answer differently to a question whose answer does not prove itself go on as voices of
// their own; the first voice plays. Members of other groups may stand with it as guests. Value type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/dispute/correspondence.h"
#include "assay/dispute/examine.h"
#include "assay/dispute/ledger.h"

namespace assay::dispute {

// Something that a voice has said. The words are those that the signer was heard to say.
struct Spoken {
  Digest question{};
  ProviderId signer = 0;
};

struct Voice {
  std::uint64_t id = 0;
  std::vector<ProviderId> members;  // all stand; guests among them
  std::vector<Spoken> lines{};
  std::optional<ProviderId> speaker{};  // who answered last
};

class Side {
 public:
  Side(std::uint32_t group, std::vector<ProviderId> members) : group_(group) { voices_.push_back({1, std::move(members)}); }

  std::uint32_t group() const { return group_; }
  bool silent() const { return voices_.empty(); }
  // Who plays. Not of a side that is silent.
  const Voice& voice() const { return voices_.front(); }
  // What it has said.
  const Testimony& Recite(const Correspondence& mail);

  // Others who stand with the voice that plays.
  void Seat(const std::vector<ProviderId>& guests);
  void Say(const Digest& question, ProviderId signer);
  // Everybody who is part of the voice has answered these; those who answered differently go on separately.
  void Split(const std::vector<Digest>& questions, const Correspondence& mail);
  // Takes back what the voice's signer said to this; false: nothing had been said.
  bool Forget(const Digest& question);
  // Guests cannot answer for what only the group itself has signed: they go back to their own.
  void ReleaseGuests(const Record& record);
  void Leave(ProviderId provider);

  void Dump(const Ledger& ledger, const Correspondence& mail, ByteWriter& out) const;

 private:
  std::uint32_t group_ = 0;
  std::vector<Voice> voices_;
  std::uint64_t next_voice_ = 2;
  Testimony testimony_;  // of the voice below, as far as it goes
  std::uint64_t testimony_of_ = 0;
  std::size_t testimony_lines_ = 0;
};

}  // namespace assay::dispute
