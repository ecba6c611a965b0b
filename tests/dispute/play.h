// Plays a dispute of two accounts by the law alone, without clocks and signatures, and counts what the referee received.
#pragma once

#include <cstddef>
#include <string>

#include "assay/dispute/examine.h"
#include "memory_run.h"

namespace assay::dispute {

struct Played {
  Outcome outcome;
  std::string silent;  // why somebody did not answer, which ended it
  std::size_t rounds = 0;
  std::size_t bytes = 0;           // of all answers
  std::size_t decision_bytes = 0;  // since the first record of a node was asked for

  const Finding* finding() const { return std::get_if<Finding>(&outcome.next); }
};

using Speaker = std::function<Result<Bytes>(const Question& question)>;

inline constexpr std::size_t kMaxRoundsPlayed = 200;

inline Played Play(const Terms& terms, const Claim& a, const Claim& b, const Speaker& say_a, const Speaker& say_b) {
  Played played;
  Testimony said[2];
  bool deciding = false;
  for (; played.rounds < kMaxRoundsPlayed; ++played.rounds) {
    played.outcome = Examine(terms, a, b, said[0], said[1]);
    const auto* asks = std::get_if<std::vector<Ask>>(&played.outcome.next);
    if (asks == nullptr) return played;
    for (const Ask& ask : *asks) {
      const Result<Bytes> body = (ask.to == Party::kA ? say_a : say_b)(ask.question);
      const auto* leaves = std::get_if<LeavesQuestion>(&ask.question);
      deciding = deciding || (leaves != nullptr && leaves->tree.kind == TreeKind::kTrace);
      if (body) {
        played.bytes += body->size();
        played.decision_bytes += deciding ? body->size() : 0;
      }
      // Through the encoding, as from a wire.
      const auto question = DecodeQuestion(Encode(Digest{}, ask.question));
      ASSAY_CHECK(question.has_value() && question->question == ask.question);
      if (!body) {
        played.silent = body.error().message;
        return played;
      }
      said[static_cast<std::size_t>(ask.to)].Add(ask.question, *body);
    }
  }
  return played;
}

}  // namespace assay::dispute
