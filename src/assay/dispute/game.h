// What goes into a referee and what comes out of it: events and actions, as values. A referee that is fed the same events does the same, so a file of encoded events is
// a saved referee.
//
// Times are milliseconds of the caller's monotonic clock. Thread safe.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/dispute/question.h"
#include "assay/merkle/sha256.h"

namespace assay::dispute {

// A provider is its position among the claims that the referee was given.
using ProviderId = std::uint32_t;

// A provider's chess clock runs while it has a question to answer. Running out of it loses.
struct Clocks {
  std::int64_t allowance_ms = 60'000;  // for each bout (record.h)
  std::int64_t rerun_ms = 600'000;     // more, for each question that may need steps to be run again
  std::int64_t patience_ms = 10'000;   // after which somebody else of the group is asked too
  std::int64_t resend_ms = 0;          // after which an unanswered question is sent again; 0: the caller sees to it
  std::int64_t retry_ms = 1'000;       // after which an unreachable provider's questions are sent again
};

struct Started {
  std::int64_t now_ms = 0;
  friend bool operator==(const Started&, const Started&) = default;
};
// Something that came from a provider. `question` is the SHA-256 of the question's bytes that it is said to answer; nothing is believed of it.
struct Answered {
  ProviderId provider = 0;
  Digest question{};
  Bytes answer;
  std::int64_t now_ms = 0;
  friend bool operator==(const Answered&, const Answered&) = default;
};
struct Tick {
  std::int64_t now_ms = 0;
  friend bool operator==(const Tick&, const Tick&) = default;
};
// What may still be hoped for from a provider that did not answer.
enum class Hope : std::uint8_t {
  kLater = 0,   // it may yet
  kFewer = 1,   // at one of its addresses it never will; there are others
  kNobody = 2,  // at none of them
  kUnable =
      3,  // the referee's own machine failed in its place (a run directory that cannot be read): it has neither answered nor refused
};
// What was sent did not arrive, or was not answered. The provider's clock goes on, unless it is known that no answer will ever come: then it has run out.
struct Unreachable {
  ProviderId provider = 0;
  std::int64_t now_ms = 0;
  Hope hope = Hope::kLater;
  friend bool operator==(const Unreachable&, const Unreachable&) = default;
};
// The referee was down since the last event: that time is charged to nobody, and `now_ms` may be of another clock. Everything unanswered is sent again.
struct Resumed {
  std::int64_t now_ms = 0;
  friend bool operator==(const Resumed&, const Resumed&) = default;
};
using Event = std::variant<Started, Answered, Tick, Unreachable, Resumed>;

// An answer that is handed in with now_ms <= deadline_ms counts. The same question may be sent again.
struct Send {
  ProviderId provider = 0;
  Bytes question;
  std::int64_t deadline_ms = 0;
  friend bool operator==(const Send&, const Send&) = default;
};
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};
using Action = std::variant<Send, Done>;

Bytes Encode(const Event& event);
// Accepts exactly what Encode writes.
Result<Event> DecodeEvent(ByteSpan bytes);

// What a provider may have to run again to answer: a step with everything between its nodes, a node, or the way to a state. None: it is at hand.
struct Rerun {
  TreeKind kind{};  // kStates, kTrace, kState, kOutput (also for inputs and parts)
  std::int64_t at = 0;
  std::uint32_t node = 0;
  friend auto operator<=>(const Rerun&, const Rerun&) = default;
};
std::optional<Rerun> RerunOf(const Question& question);

}  // namespace assay::dispute
