// Records of telemetry: what a run measured of itself while it trained, and their bytes (docs/formats/telemetry.md). Value types; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/key.h"

namespace assay::monitor {

inline constexpr std::size_t kMaxPayload = 4096;
inline constexpr std::int64_t kNotTold = -1;  // of a GPU's figures

// A call of `train`: what it trains, from where on, and on what machine.
struct SessionRecord {
  Digest job{};
  Digest trajectory{};
  std::string signer{};  // NAME+HASH+DATA
  std::int64_t first_step = 0, steps = 0;
  std::int64_t epoch_samples = 1, step_samples = 1;
  double step_flops = 0;
  std::int64_t state_bytes = 0;
  std::uint32_t interval_ms = 0;
  std::string device{}, processor{}, kernels{}, gpu{};
  std::uint32_t threads = 0, cores = 0;
  double flops_per_s = 0, flops_per_cpu_s = 0;  // measured; 0: not measured
  friend bool operator==(const SessionRecord&, const SessionRecord&) = default;
};

struct StepRecord {
  std::int64_t epoch = 0, iteration = 0;
  std::int64_t step = 0;  // steps completed
  std::uint32_t loss_bits = 0;
  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};

struct GpuFigures {
  std::int64_t utilisation = kNotTold;  // percent
  std::int64_t memory = kNotTold;       // bytes
  std::int64_t power_mw = kNotTold;
  std::int64_t energy_mj = kNotTold;  // since the driver was loaded
  std::int64_t temperature = kNotTold;
  std::int64_t clock_mhz = kNotTold;
  friend bool operator==(const GpuFigures&, const GpuFigures&) = default;
};

struct SampleRecord {
  std::int64_t step = 0;      // steps completed
  std::int64_t cpu_us = 0;    // of the process, all threads
  std::int64_t resident = 0;  // bytes
  std::optional<GpuFigures> gpu{};
  friend bool operator==(const SampleRecord&, const SampleRecord&) = default;
};

// The signer stands for all records before it, and for the log at that moment.
struct SealRecord {
  std::int64_t step = 0;
  Digest job{};
  std::uint64_t log_size = 0;
  Digest log_root{};
  bool final = false;
  Signature signature{};
  friend bool operator==(const SealRecord&, const SealRecord&) = default;
};

struct Record {
  std::uint64_t index = 0;
  std::int64_t mono_us = 0;  // since the beginning of the session, by a clock that never goes back
  std::int64_t wall_us = 0;  // since 1970, by one that may jump
  std::variant<SessionRecord, StepRecord, SampleRecord, SealRecord> body{};
  friend bool operator==(const Record&, const Record&) = default;
};

// The payload of a record. Decode accepts exactly what Encode writes.
Bytes Encode(const Record& record);
Result<Record> DecodeRecord(ByteSpan payload, std::string_view what);

// What a seal's signature is over, `before` being the hash of the record before it.
Bytes SealedMessage(const Digest& before, const Record& seal);

// Epoch and iteration of the step after `step` steps.
struct Iteration {
  std::int64_t epoch = 0, iteration = 0;
  friend bool operator==(const Iteration&, const Iteration&) = default;
  friend auto operator<=>(const Iteration&, const Iteration&) = default;
};
Iteration IterationOf(std::int64_t step, std::int64_t step_samples, std::int64_t epoch_samples);

}  // namespace assay::monitor
