// Batch: questions that are out together, and of whom each is asked. The next batch follows when all have what they need.
//
// A question whose answer proves itself is asked of one candidate at a time, and of more when nothing comes; the others are asked of all candidates. Value type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/dispute/correspondence.h"
#include "assay/dispute/examine.h"
#include "assay/dispute/ledger.h"

namespace assay::dispute {

// A question to one side or (without one) to a group.
struct Pending {
  std::optional<Party> side;
  std::uint32_t group = 0;
  Digest question{};
  bool proves_itself = false;
  std::vector<ProviderId> candidates;
  std::size_t asked = 0;  // of the candidates, from the front
  std::int64_t patience_ms = 0;
  std::int64_t hedge_ms = 0;  // when the next are asked
  std::optional<ProviderId> answered{};
};

class Batch {
 public:
  bool empty() const { return pending_.empty(); }
  void Add(Pending pending) { pending_.push_back(std::move(pending)); }
  void Clear() { pending_.clear(); }
  std::vector<Pending> Take() { return std::exchange(pending_, {}); }

  // Asks whoever has to be asked at this time.
  void Refresh(const Ledger& ledger, Correspondence& mail);
  bool IsComplete(const Correspondence& mail) const;
  void OnAnswer(ProviderId provider, const Digest& question, Correspondence& mail);
  // Others are asked now, in the place of this one as well.
  void Hurry(ProviderId provider, std::int64_t now_ms);
  // When others are asked, in the game's time.
  std::optional<std::int64_t> WakeAt() const;

  void Dump(std::int64_t now_ms, ByteWriter& out) const;

 private:
  std::vector<Pending> pending_;
};

}  // namespace assay::dispute
