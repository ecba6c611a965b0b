// Record: what happened in a game of many providers: who fell and by what, and the statements that show it. Evidence (evidence.h) is made from it.
//
// Claims that say the same form a group. Two groups meet in a match. Within it a group may speak with several voices: its members, where they answered
// differently to a question whose answer does not prove itself. Two voices meet in a bout. Value types.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "assay/dispute/examine.h"
#include "assay/dispute/game.h"

namespace assay::dispute {

struct SignedBy {
  ProviderId provider = 0;
  Signature signature{};
  friend bool operator==(const SignedBy&, const SignedBy&) = default;
};

// An answer, and who gave exactly this one.
struct Statement {
  Question question;
  Bytes body;
  std::vector<SignedBy> by;  // ascending
  friend bool operator==(const Statement&, const Statement&) = default;
};
using StatementId = std::uint32_t;  // position in Record::statements

// The law applied to what two voices said. Convicts providers who stand by everything that was held against them: their claim is the one examined, or has the
// same entries around the disputed interval (`shared`: answers that show it); they signed each answer that does not prove itself; and the unproven one, if that is it.
struct Trial {
  ProviderId claims[2] = {};           // by Party: a member of the group
  std::vector<StatementId> said[2]{};  // by Party, in the order in which they were used
  std::vector<StatementId> shared{};   // log leaves of the groups that stood with a side, and of the side's own
  Finding finding{};
  std::vector<ProviderId> convicted{};  // ascending
};
// An answer about the log of one's own receipt that does not prove itself against it.
struct UnprovenLog {
  ProviderId provider = 0;
  StatementId said = 0;
};
// Two different answers to one question.
struct TwoAnswers {
  ProviderId provider = 0;
  StatementId first = 0, second = 0;
};
// Two receipts under one key that contradict each other.
struct TwoReceipts {
  ProviderId first = 0, second = 0;
};
// Two voices that the law leaves open: what they said leads to nobody's fall. It says why those who stand in the end do so side by side; at most one, the last.
struct Draw {
  ProviderId claims[2] = {};           // by Party: a member of the group
  std::vector<StatementId> said[2]{};  // by Party, in the order in which they were used
};
// Nothing came in time, or a refusal did. Rests on the referee's word, and convicts nobody.
struct Silence {
  ProviderId provider = 0;
  Question question;
};
using Charge = std::variant<Trial, UnprovenLog, TwoAnswers, TwoReceipts, Silence, Draw>;

enum class Standing : std::uint8_t {
  kStanding = 0,
  kRefused = 1,      // its claim was not one about this job; it never took part
  kRepeated = 2,     // the same claim of the same key was handed in before; it takes part once
  kConvicted = 3,    // by a Trial or an UnprovenLog
  kEquivocated = 4,  // by TwoAnswers or TwoReceipts
  kSilent = 5,       // lost for want of an answer; not guilty of anything
  kMisled = 6,       // lost by a Trial: the rounding log that it follows is false; not guilty of anything
  kUnheard =
      7,  // refused the dispute before it said anything, or the referee's machine failed in its place: it has not lost, nor has anybody won by that
};
std::string_view ToString(Standing standing);

bool TakesPart(Standing standing);  // has a claim of its own in the game
bool IsGuilty(Standing standing);   // of a contradiction

struct ProviderRecord {
  Standing standing = Standing::kStanding;
  std::string why;                       // one line; empty while it stands
  std::optional<std::uint32_t> group{};  // of those who take part
  std::optional<std::size_t> charge{};   // position in Record::charges
  bool waits = false;                    // refused because another claim of its key takes part
  bool follows = false;                  // every receipt in which its key claims this says that it follows somebody
};

struct MatchRecord {
  std::uint32_t groups[2] = {};
  bool fell[2] = {false, false};
  std::string drawn;                   // why nobody had to fall
  std::string decided_by;              // what would decide it then
  std::optional<std::int64_t> step;    // and where it was left open
  std::optional<std::size_t> decided;  // the charge that ended it
  std::size_t bouts = 0;
  std::size_t rounds = 0;          // batches of questions that were out together
  std::size_t bytes_received = 0;  // of answers that counted
  std::size_t decision_bytes = 0;  // of those since the first question about the leaves of a trace
};

// What was said in a match that was drawn. Becomes a Draw of evidence if both groups stand in the end.
struct DrawnMatch {
  ProviderId claims[2] = {};
  std::vector<Statement> said[2]{};
};

struct Record {
  Digest dispute{};
  std::vector<Digest>
      receipts;  // the hashes of all that it is about: of those who take part, and of others in which they claim the same
  std::size_t parties =
      0;  // that can meet: who stood when it began. One key with one promise is one, under however many receipts
  std::vector<ProviderRecord> providers;
  std::vector<std::vector<ProviderId>> groups;  // by what they claim, everybody who took part
  std::vector<Statement> statements;
  std::vector<Charge> charges;
  std::vector<MatchRecord> matches;
  std::vector<DrawnMatch>
      drawn;  // those of groups that stood when the last one was, the newest last; not all, if they are long
};

std::vector<ProviderId> Survivors(const Record& record);

// How a dispute ended. Of a pair "a" or "b" is right; of any number "both": all who take part agree; "none": nobody stands; "undecided": those who stand say different
// things, or somebody who was not heard says something else than they do; otherwise the first that stands, as its number among those named. Order matters to nothing but that number.
// `groups` by what is claimed, parallel to the standings; those who take no part have none. `numbers`: what each is called.
std::string VerdictOf(std::span<const Standing> standings, std::span<const std::optional<std::uint32_t>> groups,
                      std::span<const std::uint32_t> numbers, bool pair);

}  // namespace assay::dispute
