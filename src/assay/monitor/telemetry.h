// Telemetry: what a telemetry file says, sorted by sessions, for those who hold rules against it. Value type; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/monitor/chain.h"

namespace assay::monitor {

template <class Body>
struct Timed {
  Body body{};
  std::int64_t mono_us = 0, wall_us = 0;
};

struct Session {
  SessionRecord record;
  std::int64_t wall_us = 0;  // when it began
  std::vector<Timed<StepRecord>> steps{};
  std::vector<Timed<SampleRecord>> samples{};
  std::vector<Timed<SealRecord>> seals{};
  bool beyond_final = false;  // records follow a final seal
};

struct Telemetry {
  ChainScan scan;  // how far the file is good; the rest follows from that part
  std::vector<Session> sessions{};
  std::optional<std::string> disorder{};  // the first record whose time or step does not follow from those before
  double clock_jump_s = 0;   // the most that the machine's clock and the one that never goes back differ within a session
  bool ends_sealed = false;  // the last record is a seal
};

Telemetry ReadTelemetry(ByteSpan file, const Digest& trajectory, const VerifyKey& signer);

// The record of each step that counts: a session that goes on from before replaces what an earlier one recorded.
std::map<std::int64_t, StepRecord> CountingSteps(const Telemetry& telemetry);

// Utilisation since the sample before: percent of the GPU where the session computes on one, otherwise percent of the threads that it computes with.
struct UtilisationSample {
  double percent = 0;
  double seconds = 0;
};
std::vector<UtilisationSample> UtilisationOf(const Telemetry& telemetry);
// Bytes in use, of the GPU or of the process, sample by sample.
std::vector<std::int64_t> MemoryOf(const Telemetry& telemetry);

}  // namespace assay::monitor
