// Arbitrate: plays a dispute to its end. It feeds a Referee (referee.h) with what real providers say, in real time: each provider is asked on a thread of its
// own, the referee runs on the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/dispute/evidence.h"
#include "assay/dispute/referee.h"

namespace assay::dispute {

// Why a provider gave nothing.
struct PeerError {
  enum class Kind : std::uint8_t {
    kLater,       // it may be asked again, after `retry_ms`
    kNoAnswer,    // what came is none; it may be asked again, but not for long
    kNotOpen,     // the dispute has to be opened first
    kDenied,      // this referee may not ask it, or it has too little left for this dispute
    kNever,       // it said so
    kNoProvider,  // what is there is none, and will not be
    kFailed,      // this machine could not ask it: nothing is known of the provider
  } kind{};
  static bool IsFinal(Kind kind) { return kind != Kind::kLater && kind != Kind::kNotOpen && kind != Kind::kNoAnswer; }
  bool is_final() const { return IsFinal(kind); }
  std::string why;
  std::int64_t retry_ms = 0;
};
template <class T>
using FromPeer = tl::expected<T, PeerError>;

// A provider as the referee reaches it: a server, or a run directory on this machine. Calls come one at a time, from a thread of its own; Cancel from another.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;  // for people
  virtual FromPeer<std::string> Receipt(std::int64_t timeout_ms) = 0;
  virtual FromPeer<Bytes> Job(std::int64_t timeout_ms) = 0;
  virtual FromPeer<Bytes> Program(std::int64_t timeout_ms) = 0;
  // As SignOpening writes it; before the first question, and again where the provider has forgotten.
  virtual FromPeer<void> Open(ByteSpan opening, std::int64_t timeout_ms) = 0;
  // The encoded answer to a question as SignQuestion writes it.
  virtual FromPeer<Bytes> Answer(ByteSpan question, std::int64_t timeout_ms) = 0;
  virtual void Cancel() = 0;
};

struct ArbitrateOptions {
  Clocks clocks{};
  LawOptions law{};                 // the referee's key is that of `key`
  const SigningKey* key = nullptr;  // signs openings and questions
  std::optional<Digest> job{};      // the one that was asked for; none: the one that all receipts name
  StartingBytes start{};            // the starting weights, where the job takes them from a file that is at hand
  std::function<void(const Referee& referee)> watch{};  // after every event
  // That a provider is waited for, and why: when that begins, and when the reason is another. From any thread, one call at a time.
  std::function<void(const std::string& name, const std::string& why)> waiting{};
};

struct Arbitration {
  Digest job{};
  Record record;
  Evidence evidence;
  std::vector<Claim> claims;           // of the providers that have a receipt
  std::vector<std::string> names;      // theirs
  std::vector<std::uint32_t> numbers;  // and their places among those given
  struct Absent {
    std::uint32_t number = 0;
    std::string name, why;
    bool reached = false;  // it answered, and has no receipt or one that is none
  };
  std::vector<std::string> trouble;  // by provider: why a question, or the dispute, got no answer; empty where each did
  std::vector<std::optional<PeerError::Kind>> trouble_kind;  // by provider: of what kind that was
  std::vector<Absent> absent;                                // who gave no receipt, or whose receipt is none
  std::size_t bytes_received = 0;                            // all that came from providers, receipts and encodings included
  double cpu_ms = 0;                                         // of the referee itself
};

// Asks for receipts until each provider's allowance is over. An error: there is nothing to arbitrate about (fewer than two receipts, receipts for different jobs where
// none was asked for, no encodings of the job).
Result<Arbitration> Arbitrate(std::vector<std::unique_ptr<Peer>> peers, const ArbitrateOptions& options);

}  // namespace assay::dispute
