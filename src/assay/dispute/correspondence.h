// Correspondence: what the referee has asked of whom, what came back, and how much time each provider has left. It knows nothing of matches and verdicts.
//
// A message counts only if its provider was asked this question, has not answered it yet and signed the answer. Time is that of the game: it stands still while the
// referee is down. What is to be sent is collected until it is taken. Value type.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "assay/dispute/chess_clock.h"
#include "assay/dispute/game.h"
#include "assay/dispute/game_record.h"
#include "assay/dispute/law.h"

namespace assay::dispute {

class Correspondence {
 public:
  Correspondence(std::size_t providers, const Clocks& clocks) : clocks_(clocks), players_(providers) {}

  const Clocks& clocks() const { return clocks_; }
  std::int64_t now_ms() const { return now_ms_; }
  void Start(std::int64_t now_ms) { now_ms_ = now_ms; }
  void Advance(std::int64_t now_ms) { now_ms_ = std::max(now_ms_, now_ms - shift_ms_); }
  // The referee was down. Everything unanswered is sent again.
  void Resume(std::int64_t now_ms);
  // Of the game's times: that of the caller's.
  std::int64_t CallersTime(std::int64_t game_ms) const { return game_ms + shift_ms_; }

  // Makes a question known, under its hash.
  Digest Introduce(const Question& question, Bytes bytes);
  const Question& QuestionOf(const Digest& hash) const { return asked_.at(hash).question; }

  // From here on clocks are wound again for whoever is asked.
  void BeginBout() { ++bout_; }
  void Ask(ProviderId provider, const Digest& question);
  void Withdraw(ProviderId provider, const Digest& question);
  void WithdrawFrom(ProviderId provider);
  void WithdrawAll();

  struct Received {
    enum class Kind : std::uint8_t {
      kNothing,
      kAnswer,
      kAnother
    };  // kAnother: signed, and different from what was answered before
    Kind kind = Kind::kNothing;
    Answer another{};
  };
  Received Receive(const Answered& event, const Law& law, const VerifyKey& key);
  // What was sent to it did not arrive: it is sent again a little later.
  void Bounce(ProviderId provider);
  // Sends again what is due.
  void Resend();
  std::vector<Action> TakeActions() { return std::exchange(actions_, {}); }
  std::size_t waiting_actions() const { return actions_.size(); }

  bool IsOpen(ProviderId provider, const Digest& question) const { return players_[provider].open.contains(question); }
  bool HasAnswered(ProviderId provider, const Digest& question) const;
  bool HasSpoken(ProviderId provider) const;  // has answered anything
  const Answer& Words(ProviderId provider, const Digest& question) const {
    return players_[provider].heard.at(question).answer;
  }
  // These words with the signatures that the providers gave for them.
  std::vector<SignedBy> Signatures(const Digest& question, std::span<const ProviderId> by) const;
  // A question that it has not answered yet.
  std::optional<Digest> Unanswered(ProviderId provider) const;
  std::vector<ProviderId> Expired() const;
  // When something is due next, in the game's time.
  std::optional<std::int64_t> WakeAt() const;

  // `playing`: a bout is.
  void Dump(ProviderId provider, bool playing, ByteWriter& out) const;

 private:
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
  struct Asked {
    Question question;
    Bytes bytes;
  };
  void Post(ProviderId provider, const Digest& question, Heard& heard);

  Clocks clocks_;
  std::int64_t now_ms_ = 0;
  std::int64_t shift_ms_ = 0;  // the caller's time less that of the game
  std::uint64_t bout_ = 0;
  std::vector<Player> players_;
  std::map<Digest, Asked> asked_;
  std::vector<Action> actions_;
};

}  // namespace assay::dispute
