// Exhaustive checks of the elementary functions: at most 1 ulp from the true value, and the same bits on every instruction set.
#pragma once

#include <cstdint>
#include <mutex>

#include "assay/base/thread_pool.h"
#include "support/truth.h"

namespace assay::testkit {

// What one function's check found. Merge is thread safe.
class Findings {
 public:
  struct Part {
    double worst = 0;    // error in ulps
    float worst_at = 0;  // its argument
    std::int64_t arguments = 0;
    std::int64_t over_one_ulp = 0;
    std::int64_t differing = 0;  // results of an instruction set whose bits are not the reference's
    float differing_at = 0;

    void Add(float x, double error);
  };

  void Merge(const Part& part);
  // Prints one line; true when nothing is wrong.
  bool Report(const char* function) const;

 private:
  mutable std::mutex mutex_;
  Part total_;
};

bool CheckAllArguments(const numerics::Truth& truth, ThreadPool& pool);
bool CheckPow(ThreadPool& pool);

}  // namespace assay::testkit
