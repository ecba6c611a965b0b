#include "assay/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace assay {
namespace {

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    for (std::int64_t n : {0, 1, 2, 7, 64, 1001}) {
      for (std::int64_t grain : {1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> hits(static_cast<std::size_t>(n));
        pool.ParallelFor(n, grain, [&](std::int64_t begin, std::int64_t end, int worker) {
          EXPECT_LE(end - begin, grain);
          EXPECT_GE(worker, 0);
          EXPECT_LT(worker, threads);
          for (std::int64_t i = begin; i < end; ++i) hits[static_cast<std::size_t>(i)].fetch_add(1);
        });
        for (const auto& hit : hits) EXPECT_EQ(hit.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, ManySmallCallsFollowEachOther) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  for (int call = 0; call < 20000; ++call) {
    pool.ParallelFor(5, 1, [&](std::int64_t begin, std::int64_t, int) { sum.fetch_add(begin); });
  }
  EXPECT_EQ(sum.load(), 20000 * 10);
}

// Trap: a library sets flush-to-zero in a thread and denormals vanish from then on.
TEST(ThreadPool, DenormalsSurviveAForeignControlWord) {
#if defined(__x86_64__)
  ThreadPool pool(2);
  for (int round = 0; round < 50; ++round) {
    pool.ParallelFor(2, 1, [&](std::int64_t, std::int64_t, int) {
      volatile float tiny = std::numeric_limits<float>::denorm_min();
      volatile float kept = tiny + tiny;
      EXPECT_GT(kept, 0.0f);
      _mm_setcsr(_mm_getcsr() | 0x8040);  // what the foreign library does
    });
  }
  SetIeeeFloatingPoint();
#endif
}

}  // namespace
}  // namespace assay
