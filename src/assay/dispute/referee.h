// Referee: the game of many providers about one job, as a pure state machine: no network, no clock, no disk. It is fed events and returns what is to be sent.
//
// A tournament: who takes part is settled by the roster (roster.h), who meets whom by the bracket (bracket.h), each match by itself (match.h); what was asked and heard is in
// the correspondence (correspondence.h), who fell and by what in the ledger (ledger.h).
//
// Claims fight, not players. An answer that proves itself is asked of one member of a group at a time; who fails to give it is out, and the next is asked. Other answers are
// asked of all members; those who answer differently go on as separate voices, and a finding strikes one voice alone. So a provider whose answers are what the job
// gives never falls, whoever claims to stand with it, unless its clock runs out; and its claim is never without it.
//
// Who gives no answer in time, or refuses one, loses. But who refuses the dispute as such, at any of its addresses, before it has signed anything was not heard: it falls, and the
// verdict says that it is open whether it would have won (record.h, VerdictOf). Otherwise a liar would win against whoever does not know the referee.
//
// Before the first question inside an interval, groups that have the same entries around it are let join either side: they fall or stand with it.
//
// A message counts only if its provider stands, was asked this question in this dispute, has not answered it yet and signed the answer; everything else changes
// nothing, except a second, different, well signed answer, which convicts its signer. Not synchronised; copyable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "assay/dispute/bracket.h"
#include "assay/dispute/game.h"
#include "assay/dispute/law.h"
#include "assay/dispute/match.h"
#include "assay/dispute/roster.h"

namespace assay::dispute {

class Referee {
 public:
  // Claims with bad terms are refused here; providers keep their positions.
  Referee(std::shared_ptr<const Law> law, std::vector<Claim> claims, const Clocks& clocks);

  std::vector<Action> Handle(const Event& event);

  // When Tick has something to do next, in the caller's time.
  std::optional<std::int64_t> WakeAt() const;

  bool done() const { return phase_ == Phase::kDone; }
  const Record& record() const { return ledger_.record(); }
  const std::vector<Claim>& claims() const { return *claims_; }
  // For each provider the one that takes part for it: itself, or whoever hands out the same claim of the same key. Whichever of them can sign for that key
  // speaks for it, so that nobody takes a provider's place by handing out its receipt.
  const std::vector<ProviderId>& parties() const { return parties_; }
  Progress progress() const { return match_ ? match_->progress() : Progress{}; }  // of the bout that is being played

  // Everything it knows, apart from the law, the claims and the time of day. Two referees with the same bytes behave the same.
  Bytes Dump() const;
  // Of that, what has a bearing on how the game goes on and who stands in the end: without the record, and without what the fallen said and nobody uses.
  Bytes DumpOutlook() const;

 private:
  enum class Phase : std::uint8_t { kNew, kPlaying, kDone };

  Referee(std::shared_ptr<const Law> law, std::shared_ptr<const std::vector<Claim>> claims, Roster roster,
          const Clocks& clocks);
  Floor OpenFloor() { return {*law_, *claims_, ledger_, mail_}; }
  void Run();
  void OnAnswer(const Answered& event);
  void SecondAnswer(ProviderId provider, const Digest& question, const Answer& answer);
  void OnUnreachable(const Unreachable& event);
  void FallSilent(ProviderId provider, std::string_view how);

  std::shared_ptr<const Law> law_;
  std::shared_ptr<const std::vector<Claim>> claims_;
  Phase phase_ = Phase::kNew;
  std::vector<ProviderId> parties_;
  Bracket bracket_;
  Ledger ledger_;
  Correspondence mail_;
  std::vector<bool> refused_;  // by provider: that it was heard to refuse, at one of its addresses at least
  std::vector<bool> unable_;   // by provider: that this machine failed in its place
  std::optional<Match> match_;
};

}  // namespace assay::dispute
