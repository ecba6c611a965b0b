// Workers' crafts that are slow, patient or false.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "assay/train/prepare.h"
#include "assay/worker/craft.h"

namespace assay::worker {

// Takes its time for each step; a test may look on.
class SlowCraft : public Craft {
 public:
  explicit SlowCraft(int ms = 0) : ms_(ms) {}
  Result<TrainOutcome> Train(const PreparedJob& prepared, const std::string& run_path, const SigningKey& key,
                             const Compute& compute, const TrainHooks& hooks) override {
    TrainHooks slow = hooks;
    slow.on_step = [&](const StepReport& report) {
      hooks.on_step(report);
      ++steps;
      std::this_thread::sleep_for(std::chrono::milliseconds(ms_));
    };
    return Craft::Train(prepared, run_path, key, compute, slow);
  }
  std::atomic<int> steps = 0;

 private:
  const int ms_;
};

// Does not come to the end before something has happened, of what another craft trains.
class PatientCraft : public Craft {
 public:
  PatientCraft(Craft& craft, std::function<void()> wait) : craft_(craft), wait_(std::move(wait)) {}
  Result<TrainOutcome> Train(const PreparedJob& prepared, const std::string& run_path, const SigningKey& key,
                             const Compute& compute, const TrainHooks& hooks) override {
    TrainHooks patient = hooks;
    patient.on_step = [&](const StepReport& report) {
      hooks.on_step(report);
      if (report.step == prepared.job.steps - 1) wait_();
    };
    return craft_.Train(prepared, run_path, key, compute, patient);
  }

 private:
  Craft& craft_;
  const std::function<void()> wait_;
};

// Trains on other data than the job says.
class Liar : public Craft {
 public:
  Result<TrainOutcome> Train(const PreparedJob& prepared, const std::string& run_path, const SigningKey& key,
                             const Compute& compute, const TrainHooks& hooks) override {
    PreparedJob lying = Prepare(prepared.job).value();
    PreparedJob other = Prepare(WithOtherData(prepared.job)).value();
    lying.data.train = std::move(other.data.train);
    return Craft::Train(lying, run_path, key, compute, hooks);
  }
  static Job WithOtherData(Job job) {
    job.seed += 1;
    job.data.seed += 1;
    return job;
  }
};

}  // namespace assay::worker
