// Examine: two claims about the same job, and what their parties have said so far, lead to the next questions or to a verdict.
//
// This is the whole law of a dispute (docs/formats/dispute.md) as one pure function: no clock, no network, no state beside the testimonies. A referee calls it
// again whenever an answer has come in; a judge calls it once on what the evidence holds and must arrive at the same verdict. A party whose answers
// are what the job gives is never found guilty. Pure; thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "assay/dispute/answer.h"
#include "assay/dispute/claim.h"
#include "assay/dispute/question.h"
#include "assay/dispute/terms.h"

namespace assay::dispute {

enum class Party : std::uint8_t { kA = 0, kB = 1 };

// What has been said for one claim: the bodies of answers by question.
class Testimony {
 public:
  void Add(const Question& question, Bytes body);
  const Bytes* Find(const Question& question) const;

 private:
  static std::string KeyOf(const Question& question);
  std::map<std::string, Bytes> said_;
};

// What decided.
enum class Cause : std::uint8_t {
  kReceipt,    // the receipt contradicts its own log
  kEntry,      // an entry of the log is none, or not of its step, or does not follow from the one before
  kStart,      // the starting state
  kBatch,      // the batch of a step
  kHistory,    // the states given for an interval contradict the entry at its end
  kStructure,  // a node of the trace is not the program's
  kInput,      // a node was run on another input than the agreed one
  kOutput,     // a node's output is not what its inputs give
  kResult,     // the state or the loss after the step is not what its nodes wrote
  kUnproven,   // an answer does not prove itself
  kWeights,    // the delivered weights are not those of the last state
};
std::string_view ToString(Cause cause);

// A finding is about one party or both: what they said contradicts what they signed, or a value that was recomputed.
struct Finding {
  bool guilty[2] = {false, false};  // by Party
  // By Party: its rounding log is not one that a correct run can have. Who wrote it is guilty; who followed it in good faith, as its receipt says, is misled and falls without guilt.
  bool false_log[2] = {false, false};
  Cause cause{};
  std::string reason{};  // one line, in plain words
  std::optional<std::int64_t> step{};
  std::optional<std::uint32_t> node{};
  std::string node_name{};
  std::optional<std::uint32_t> index{};   // of the input or output
  std::optional<std::uint64_t> leaf{};    // 4 KiB block of it
  std::optional<std::int64_t> element{};  // of the tensor
  std::string said[2]{};                  // by Party: the value claimed for what decided
  std::string truth{};                    // what the referee computed
  std::optional<Question> unproven{};     // kUnproven: the question, so that somebody else of the group can be asked
  bool strikes(Party party) const {
    return guilty[static_cast<std::size_t>(party)] || false_log[static_cast<std::size_t>(party)];
  }
  friend bool operator==(const Finding&, const Finding&) = default;
};

struct Agreement {};  // the claims are the same

// Cannot be decided from the job's encodings and the testimonies. Nobody is guilty of it.
struct Undecided {
  std::string why;
  std::string decided_by{};            // what would decide it; empty: nothing that we know of
  std::optional<std::int64_t> step{};  // where it was left open, if at a step
};
// Of a close call that both took as they may: what comes after it can be told only from a run that takes the same decisions.
inline constexpr std::string_view kDecidedByFollowing =
    "a run that follows the log of each (assay train --follow) and is disputed with it, or an audit of each";

struct Ask {
  Party to{};
  Question question;
};

// Where a dispute stands, for whoever watches it: the narrowing interval.
struct Progress {
  std::string phase;     // "steps", "nodes", "leaf", "value"
  std::string interval;  // "0..4096", "step 417, nodes 64..128 of 2210"
};

struct Outcome {
  std::variant<std::vector<Ask>, Finding, Agreement, Undecided> next;
  Progress progress;
};

// Both claims passed CheckClaim for these terms.
Outcome Examine(const Terms& terms, const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b);

}  // namespace assay::dispute
