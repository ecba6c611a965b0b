// Calibrate: thresholds for the published rule of rounding, from where two machines round differently (docs/ROUNDING.md, section 6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/train/prepare.h"

namespace assay {

struct OpThreshold {
  std::string op;
  std::uint64_t differed = 0;  // elements that were rounded differently
  std::uint64_t missed = 0;    // of these, not close even so: the search does not go below its lower limit
  float tau = 0;               // in spacings of the grid
};

struct Calibration {
  std::int64_t steps = 0;
  std::uint64_t elements = 0;    // of all steps
  std::vector<OpThreshold> ops;  // all that have bounds
};

// Replays a run of a job with the rule of bounds, which another machine trained. An error if the run is not right.
Result<Calibration> Calibrate(const RunDirectory& run, const PreparedJob& prepared, Backend& backend, ThreadPool& pool);

}  // namespace assay
