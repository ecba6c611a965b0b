// Craft: how a worker trains and answers for what it trained. The honest one does what the job says; tests of cheating workers put their own in its place.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "assay/dispute/run_account.h"
#include "assay/train/trainer.h"

namespace assay::worker {

// Threads and kernels for jobs of one precision. What is made of it is used by one thread at a time.
struct Compute {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Backend> backend;
};
using ComputeFactory = std::function<Result<Compute>(const Job& job)>;

// Who answers for a finished run.
class Testimony {
 public:
  virtual ~Testimony() = default;
  virtual dispute::RunAccount& account() = 0;
  virtual const SigningKey& key() const = 0;  // of the receipt
};

// All that is given outlives what is made.
class Craft {
 public:
  virtual ~Craft() = default;
  // Trains into `run_path`, or goes on there. Nothing where it was interrupted.
  virtual Result<TrainOutcome> Train(const PreparedJob& prepared, const std::string& run_path, const SigningKey& key,
                                     const Compute& compute, const TrainHooks& hooks);
  virtual Result<std::unique_ptr<Testimony>> Testify(const PreparedJob& prepared, const std::string& run_path,
                                                     const SigningKey& key, const Compute& compute, std::size_t memory);
  // Before a finished run is delivered; false: it never is.
  virtual bool BeforeDelivery() { return true; }
  virtual bool answers() const { return true; }  // questions of disputes
  virtual bool renews() const { return true; }   // leases
};

}  // namespace assay::worker
