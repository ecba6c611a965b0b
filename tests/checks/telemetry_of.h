// Telemetry for a run whose trainer wrote none, as a machine would have recorded it that is known beforehand: so that what rules say of a run does not depend on this
// machine or on its load. Losses are those of the run's log.
#pragma once

#include <cstdint>
#include <map>

#include "assay/run/directory.h"
#include "assay/sign/key.h"
#include "assay/train/prepare.h"

namespace assay::checks {

enum class Machine {
  kBusy,  // a GPU that does the work of the job, with pauses for loading
  kIdle,  // a GPU that does none of it, whose utilisation is noise
};

// `losses` has those of the steps between two entries of the log, by step; the others are the log's. Whoever holds the key can write what it likes; that is the point.
Status WriteTelemetryOf(const RunDirectory& run, const PreparedJob& prepared, const SigningKey& key, Machine machine,
                        const std::map<std::int64_t, float>& losses = {});

}  // namespace assay::checks
