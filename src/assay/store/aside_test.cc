#include "assay/store/aside.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <vector>

namespace assay::store {
namespace {

TEST(Aside, RunsBothAtTheSameTime) {
  Aside aside;
  std::latch both(2);  // passed only where each waits for the other
  bool other = false;
  const Status done = aside.Run(
      [&]() -> Status {
        both.arrive_and_wait();
        return Err("its own");
      },
      [&] {
        both.arrive_and_wait();
        other = true;
      });
  EXPECT_TRUE(other);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "its own");
}

TEST(Aside, WhoFindsItTakenDoesBoth) {
  Aside aside;
  bool inner = false;
  const Status done = aside.Run([&] { return aside.Run([] { return Status(); }, [&] { inner = true; }); }, [] {});
  EXPECT_TRUE(done);
  EXPECT_TRUE(inner);
}

TEST(Aside, ServesManyWhoAskAtOnce) {
  Aside aside;
  std::atomic<int> own = 0, other = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        int here = 0;
        EXPECT_TRUE(aside.Run(
            [&]() -> Status {
              ++own;
              return {};
            },
            [&] {
              ++here;
              ++other;
            }));
        EXPECT_EQ(here, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(own, 2000);
  EXPECT_EQ(other, 2000);
}

}  // namespace
}  // namespace assay::store
