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
  // For each provider the one that takes part for it: itself, or whoever hands out the same claim of the same key. Whichever of them can sign for that key
  // speaks for it, so that nobody takes a provider's place by handing out its receipt.
  const std::vector<ProviderId>& parties() const { return parties_; }
  const Progress& progress() const { return progress_; }  // of the bout that is being played

  // Everything it knows, apart from the law, the claims and the time of day. Two referees with the same bytes behave the same.
  Bytes Dump() const;
  // Of that, what has a bearing on how the game goes on and who stands in the end: without the record, and without what the fallen said and nobody uses.
  Bytes DumpOutlook() const;

 private:
  enum class Phase : std::uint8_t { kNew, kPlaying, kDone };

  struct Heard {
    enum class State : std::uint8_t { kAsked, kWithdrawn, kAnswered };
    State state = State::kAsked;
    Answer answer;
    std::optional<std::int64_t> resend_ms{};  // when the question is sent again
  };
  struct Player {
    std::uint64_t bout = 0;  // for which its clock was wound
    ChessClock clock;
    std::set<Rerun> rerun;          // what it was given time for in this bout
    std::map<Digest, Heard> heard;  // by the hash of the question's bytes
    std::set<Digest> open;          // those of them that are kAsked
  };
  // One line of what a voice has said. The words are those that the signer was heard to say.
  struct Line {
    Digest question{};
    ProviderId signer = 0;
  };
  struct Voice {
    std::uint64_t id = 0;
    std::vector<ProviderId> members;  // all stand; guests among them
    std::vector<Line> lines{};
    std::optional<ProviderId> speaker{};  // who answered last
  };
  struct Side {
    std::uint32_t group = 0;
    std::vector<Voice> voices;  // the first one plays
    Testimony testimony;        // of the voice below, as far as it goes
    std::uint64_t testimony_of = 0;
    std::size_t testimony_lines = 0;
  };
  struct Match {
    Side sides[2];
    std::uint64_t voices[2] = {};  // of the bout
    std::uint64_t bout = 0;
    bool invited = false;                                                 // groups with the same entries have been let join
    LeavesQuestion invitation;                                            // for the entries
    std::map<std::uint32_t, std::pair<Line, std::vector<Bytes>>> leaves;  // by group: who showed them, and what they are
    bool deciding = false;
    MatchRecord record;
  };
  // A question that is out, to one side or (without one) to a group.
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
  struct Asked {
    Question question;
    Bytes bytes;
  };

  // referee.cc: events, messages, clocks.
  void TakeIn();
  std::map<KeyPoint, Digest> KeptClaims() const;
  void Equivocal(ProviderId first, ProviderId second);
  void Advance(std::int64_t now_ms);
  void Expire();
  void FallSilent(ProviderId provider);
  void Resend(bool all);
  void OnAnswer(const Answered& event);
  void SecondAnswer(ProviderId provider, const Digest& question, const Answer& answer);
  void Ask(ProviderId provider, const Digest& question);
  void Post(ProviderId provider, const Digest& question, Heard& heard);
  void Withdraw(ProviderId provider, const Digest& question);
  void WithdrawAll();
  void Fall(ProviderId provider, Standing standing, std::string why, std::size_t charge);
  bool Stands(ProviderId provider) const { return record_.providers[provider].standing == Standing::kStanding; }
  bool GroupStands(std::uint32_t group) const;
  std::vector<ProviderId> StandingOf(std::uint32_t group) const;
  bool HasAnswered(ProviderId provider, const Digest& question) const;
  bool IsOpen(ProviderId provider, const Digest& question) const { return players_[provider].open.contains(question); }
  const Answer& Words(const Line& line) const { return players_[line.signer].heard.at(line.question).answer; }
  StatementId Note(const Digest& question, const Answer& answer, std::span<const ProviderId> by);

  // referee_match.cc: matches, bouts, voices.
  void Run();
  bool BeginMatch();
  void EndMatch();
  void BeginBout();
  void Consult();
  void Recite(Side& side);
  void Put(const std::vector<dispute::Ask>& asks);
  void Add(std::optional<Party> side, std::uint32_t group, const Question& question, std::vector<ProviderId> candidates);
  void Open();
  void Refresh(Pending& pending);
  bool IsComplete(const Pending& pending) const;
  void CloseBatch();
  void Hear(Party party, const std::vector<Pending>& batch);
  void Split(Side& side, const std::vector<Digest>& questions);
  bool Invite(const std::vector<dispute::Ask>& asks);
  void CloseInvitation(const std::vector<Pending>& batch);
  void Seat();
  void Decide(const Finding& finding);
  std::vector<ProviderId> GuiltyOf(const Voice& voice, std::uint32_t group, const Finding& finding) const;
  void Transcribe(Trial& trial, std::size_t side);
  void Share(Trial& trial, std::uint32_t group, std::uint32_t guest);
  void Strike(Trial trial);
  bool Forget(Side& side, const Digest& question);
  void Draw(std::string why, std::string decided_by);
  void ReleaseGuests(Side& side);

  // referee_dump.cc
  void DumpPlayer(const Player& player, ByteWriter& out) const;
  void DumpMatch(ByteWriter& out) const;
  void DumpBatch(ByteWriter& out) const;

  std::shared_ptr<const Law> law_;
  std::shared_ptr<const std::vector<Claim>> claims_;
  Clocks clocks_;
  Phase phase_ = Phase::kNew;
  std::int64_t now_ms_ = 0;    // of the game: stands still while the referee is down
  std::int64_t shift_ms_ = 0;  // the caller's time less that of the game
  std::vector<ProviderId> parties_;
  std::vector<Player> players_;
  std::map<Digest, Asked> asked_;
  Bracket bracket_{0};
  std::optional<Match> match_;
  std::vector<Pending> batch_;
  std::uint64_t next_voice_ = 1, next_bout_ = 1;
  Progress progress_;
  Record record_;
  std::map<std::pair<Digest, Digest>, StatementId> noted_;  // by question and words
  std::vector<Action> actions_;
};

}  // namespace assay::dispute
