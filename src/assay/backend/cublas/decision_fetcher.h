// DecisionFetcher: takes the decisions of a step that is recorded from the device, and codes them, while the step goes on.
//
// Kernels list decisions as they take them; those of an op stand before those of the next. At a mark, between two ops, the device tells the host how many there are; a thread waits for
// that, fetches what is new, sorts it and codes it.
#pragma once

#include <cuda_runtime_api.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "assay/rounding/decision_log.h"

namespace assay::cublas {

class DecisionFetcher {
 public:
  // `stream` is that of the kernels.
  explicit DecisionFetcher(cudaStream_t stream);
  ~DecisionFetcher();
  DecisionFetcher(const DecisionFetcher&) = delete;
  DecisionFetcher& operator=(const DecisionFetcher&) = delete;

  // A step begins: `count` decisions stand at `taken`, both on the device, with room for `room`. What was left of another step is forgotten.
  void Begin(const unsigned long long* count, const rounding::Decision* taken, std::size_t room);
  // Everything that the kernels asked for so far have decided can be fetched.
  void Mark();
  // Waits for all of it. Throws DeviceError where there were more decisions than there is room for, or the device failed.
  rounding::DecisionLogWriter Finish();

 private:
  static constexpr std::size_t kMarks = 64;  // that wait at one time; more are left out

  struct Slot {
    cudaEvent_t told = nullptr;
    unsigned long long* count = nullptr;  // on the host
  };

  void Work();
  void Fetch(const Slot& slot);
  void Put(std::size_t slot);

  cudaStream_t stream_, lists_ = nullptr;
  std::vector<Slot> slots_;
  rounding::Decision* staged_ = nullptr;  // kStaged of them

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> marks_;  // slots, the one that is worked on first
  std::size_t next_slot_ = 0;
  bool stops_ = false;

  // Of the thread while marks wait, else of the caller.
  const unsigned long long* count_ = nullptr;
  const rounding::Decision* taken_ = nullptr;
  std::size_t room_ = 0, fetched_ = 0;
  std::string failure_;
  std::vector<rounding::Decision> sorted_;
  rounding::DecisionLogWriter writer_;

  std::thread thread_;
};

// Enqueues *to = *count, where `to` is memory of the host that the device can write.
void TellCount(const unsigned long long* count, unsigned long long* to, cudaStream_t stream);

}  // namespace assay::cublas
