// A fixed set of threads that share out index ranges.
//
// How a range is cut never influences a result: every kernel's reduction order is fixed by the numeric contract
// (docs/NUMERICS.md), so work may be split in any way. Each worker sets its floating-point control word to IEEE defaults
// (round to nearest even, denormals kept) before every piece of work, because a third-party library may have changed it.
//
// ParallelFor may be called from one thread at a time and must not be nested.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace assay {

class ThreadPool {
 public:
  // `threads` >= 1 counts the calling thread, which takes part in the work.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(begin, end, worker) until [0, n) is covered, in pieces of at most `grain` indices (the last may be shorter), handed
  // out dynamically. `worker` is in [0, threads()) and is unique among the calls that run at the same moment.
  void ParallelFor(std::int64_t n, std::int64_t grain,
                   const std::function<void(std::int64_t begin, std::int64_t end, int worker)>& body);

 private:
  struct Shared;
  int threads_;
  std::unique_ptr<Shared> shared_;
};

// Sets IEEE defaults on the calling thread: round to nearest even, no flush-to-zero, no denormals-are-zero, exceptions masked.
void SetIeeeFloatingPoint();

}  // namespace assay
