// From a job file to everything that training it needs: data opened, model resolved against it, program built, identity known.
#pragma once

#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/exec/step.h"
#include "assay/job/job.h"
#include "assay/run/directory.h"

namespace assay {

struct PreparedJob {
  Job job;  // resolved
  Data data;
  JobInputs inputs;
  Program program;
  RunIdentity identity;
};

// A pool shortens the hashing of large data. What the data and the weights to start from take of memory is taken from the allowance before it is allocated; work
// that should stop ends in an error.
Result<PreparedJob> Prepare(Job job, ThreadPool* pool, Allowance& allowance);
Result<PreparedJob> Prepare(Job job, ThreadPool* pool = nullptr);

// Prepares the job of a run, whose files and data may have changed since. Data that does not fit the job is reported as that; data
// that fits is for the caller to compare with the run's identity.
Result<PreparedJob> PrepareAgain(const RunDirectory& run, Job job, ThreadPool* pool = nullptr);

// What a run directory of this job holds that lies, or will lie, at `run_path`.
RunContent ContentOf(const PreparedJob& prepared, const std::string& run_path = ".");

// The state before the first step: from the seed, with the job's initial weights over it where it names some.
Result<State> StartingState(const PreparedJob& prepared);

// What one training step works through, for rates: tokens of a language model, images or samples of the others.
struct Throughput {
  std::string_view unit;  // "tokens", "images", "samples"
  double per_step = 0;
};
Throughput ThroughputOf(const Job& job);

}  // namespace assay
