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

// A provider as the referee reaches it: a server, or a run directory on this machine. Calls come one at a time, from a thread of its own; Cancel from another.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;  // for people
  virtual Result<std::string> Receipt() = 0;
  virtual Result<Bytes> Job() = 0;
  virtual Result<Bytes> Program() = 0;
  // The encoded answer to an encoded question. An error: it cannot be reached at present.
  virtual Result<Bytes> Answer(ByteSpan question, std::int64_t timeout_ms) = 0;
  virtual void Cancel() = 0;
};

struct ArbitrateOptions {
  Clocks clocks{};
  Digest nonce{};
  bool pair = false;  // two runs on one machine, which the verdict calls a and b
  std::vector<VerifyKey>
      unsigned_answers{};  // signers whose answers are computed here from copies of their runs. Evidence says so
  // The job that was asked for; none: what all receipts name.
  std::optional<Digest> job{};
  std::function<void(const Referee& referee)> watch{};  // after every event
};

struct Arbitration {
  Record record;
  Evidence evidence;
  std::vector<std::string> names;    // of the providers that have a receipt
  std::vector<std::size_t> numbers;  // and their places among those given
  std::vector<std::string> absent;   // why others have none
  std::size_t bytes_received = 0;    // all that came from providers, receipts and encodings included
  double cpu_ms = 0;                 // of the referee itself
};

// An error: there is nothing to arbitrate about (no receipts, no encodings of the job, fewer than two providers).
Result<Arbitration> Arbitrate(std::vector<std::unique_ptr<Peer>> peers, const ArbitrateOptions& options);

}  // namespace assay::dispute
