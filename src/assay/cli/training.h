// What `assay train` and `assay resume` share: training a prepared job into a run directory, with progress, and saying what came of it.
#pragma once

#include <cstdint>
#include <string>

#include "assay/cli/command.h"
#include "assay/cli/showing.h"
#include "assay/run/directory.h"
#include "assay/train/prepare.h"
#include "assay/train/trainer.h"

namespace assay::cli {

struct TrainOptions {
  std::string job;
  std::string out;
  std::string data;
  std::string key;         // empty: the user's own
  std::string follow;      // a run whose rounding log is followed: a directory or a URL
  std::string ca_file;     // for a URL
  float patience_s = 300;  // with it
  bool patience_given = false;
  std::int64_t steps = 0;  // 0: the job's
  ComputeOptions compute;
  bool no_telemetry = false;
  std::int64_t sample_ms = 0;  // 0: by how long the training will take
  ShowingOptions showing;
  bool json = false;
  bool quiet = false;
};

// The options that both take.
void AddTrainingOptions(Subcommand& subcommand, TrainOptions& options);

// Trains into options.out. The exit status; an interrupted training has 128 and the signal's number.
Result<int> TrainInto(const TrainOptions& options, const PreparedJob& prepared, Compute compute);

// Says of a run that it was finished before, as TrainInto does. `name`: the job's. The exit status.
int PrintFinished(const TrainOptions& options, const std::string& name, const RunDirectory& run, const Compute& compute,
                  const TrainOutcome& outcome);

}  // namespace assay::cli
