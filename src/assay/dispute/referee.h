// Referee: the game of many providers about one job, as a pure state machine: no network, no clock, no disk. It is fed events and returns what is to be sent.
//
// Claims fight, not players. An answer that proves itself is asked of one member of a group at a time; who fails to give it is out, and the next is asked. Other answers are
// asked of all members; those who answer differently go on as separate voices, and a finding strikes one voice alone. So a provider whose answers are what the job
// gives never falls, whoever claims to stand with it, unless its clock runs out; and its claim is never without it.
//
// Before the first question inside an interval, groups that have the same entries around it are let join either side: they fall or stand with it.
//
// A message counts only if its provider stands, was asked this question in this dispute, has not answered it yet and signed the answer; everything else changes
// nothing, except a second, different, well signed answer, which convicts its signer. Not synchronised; copyable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "assay/dispute/bracket.h"
#include "assay/dispute/chess_clock.h"
#include "assay/dispute/game.h"
#include "assay/dispute/law.h"
#include "assay/dispute/record.h"

namespace assay::dispute {

class Referee {
 public:
  // Claims with bad terms are refused here; providers keep their positions.
  Referee(std::shared_ptr<const Law> law, std::vector<Claim> claims, const Clocks& clocks);

  std::vector<Action> Handle(const Event& event);

  // When Tick has something to do next, in the caller's time.
  std::optional<std::int64_t> WakeAt() const;

  bool done() const { return phase_ == Phase::kDone; }
  const Record& record() const { return record_; }
  const std::vector<Claim>& claims() const { return *claims_; }
  const Progress& progress() const { return progress_; }  // of the bout that is being played

  // Everything it knows, apart from the law, the claims and the time of day. Two referees with the same bytes behave the same.
  Bytes Dump() const;
};

}  // namespace assay::dispute
