// Reporter: keeps the coordinator informed while a lease is worked on: signs of life, telemetry, commitments. It also watches that the work stays within its room.
//
// It has a thread and a link of its own; what the work tells it never waits for the network. The work is stopped (halt.h) as soon as the lease turns out to be over
// or the room is exceeded. While the coordinator cannot be reached the work goes on: whether the lease outlived that, the coordinator says afterwards. Thread safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "assay/monitor/record.h"
#include "assay/platform/work_limits.h"
#include "assay/train/trainer.h"
#include "assay/worker/commitments.h"
#include "assay/worker/halt.h"
#include "assay/worker/lease_folder.h"

namespace assay::worker {

struct ReporterTerms {
  std::int64_t lease_ms = 60'000;  // how long a lease lasts without a sign of life
  std::int64_t tell_ms = 1'000;    // between batches of telemetry
  std::int64_t commit_ms = 5'000;  // between commitments, at least
  bool quiet = false;              // gives no sign of life, as a worker that has died
};

class Reporter {
 public:
  // All must outlive it. Works until it is destroyed.
  Reporter(Link& link, LeaseFolder& folder, Halt& halt, const ReporterTerms& terms);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  // What is being done, for telemetry.
  void SetPhase(const std::string& phase, std::int64_t steps, const Throughput& throughput);
  void SetRoom(const platform::Room& room);
  void SetSealed(bool sealed);               // what the work is like is for the client alone, and is not told
  void Step(std::int64_t step, float loss);  // while nothing is kept
  // What the run keeps of its training is what is told of it, record by record, each with its hash.
  void Kept(const monitor::Record& record, const Digest& hash);
  void SetGpu(const monitor::GpuIdentity& gpu);  // whose figures are kept

  // From here on what is offered is sent. `commitments` must outlive the reporter, or EndCommitments.
  void BeginCommitments(Commitments& commitments);
  bool WantsLog();  // whether it is time to offer a log
  // Nothing is sent after this, nor on its way.
  void EndCommitments();

 private:
  using Clock = std::chrono::steady_clock;
  void Loop();
  void Watch();
  bool TellNow(Clock::time_point now);
  void CommitNow();
  bool GoBack();
  void RenewNow(Clock::time_point now);
  // What an answer means for the work; whether it was one.
  bool Heard(const Call<void>& answer);
  std::vector<Sample> TakeSamples();

  Link& link_;
  LeaseFolder& folder_;
  Halt& halt_;
  const ReporterTerms terms_;
  const std::int64_t used_before_ms_;
  const Clock::time_point began_ = Clock::now();
  const std::int64_t memory_before_;

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool leaving_ = false;
  Sample now_{};  // what samples have in common
  double per_step_ = 0;
  std::vector<Sample> samples_{};
  platform::Room room_{};
  Clock::time_point offered_at_{};
  bool offered_ = false;
  Clock::time_point last_step_{};
  bool keeps_ = false;                                 // the run keeps telemetry
  std::int64_t kept_step_us_ = 0;                      // when the last step of the session was
  std::int64_t kept_sample_us_ = 0, kept_cpu_us_ = 0;  // and its last sample, with its processor time

  std::mutex committing_;  // held while a commitment is on its way
  Commitments* commitments_ = nullptr;

  // Of the thread alone.
  Clock::time_point sign_of_life_ = Clock::now();
  double cpu_before_ = 0;
  Clock::time_point cpu_at_ = Clock::now();
  Clock::time_point watched_disk_{};
  platform::Taken taken_{};
  std::thread thread_;
};

}  // namespace assay::worker
