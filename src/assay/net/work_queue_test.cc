#include "assay/net/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace assay {
namespace {

// Holds one thread of a queue until it is let go.
struct Block {
  std::promise<void> begun;
  std::promise<void> go;
  WorkQueue::Task Task() {
    return [this](bool) {
      begun.set_value();
      go.get_future().wait();
    };
  }
};

TEST(WorkQueue, RunsEveryTaskOnce) {
  WorkQueue queue(3, 1000);
  ASSERT_TRUE(queue.Start());
  std::atomic<int> ran = 0;
  std::promise<void> all;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(queue.TryPush([&](bool) {
      if (++ran == 1000) all.set_value();
    }));
  }
  all.get_future().wait();
  queue.Stop();
  EXPECT_EQ(ran, 1000);
}

TEST(WorkQueue, IsFullWhenThreadsAreBusyAndPlacesTaken) {
  Block block;
  std::atomic<int> ran = 0;
  std::atomic<int> dropped = 0;
  WorkQueue queue(1, 2);
  ASSERT_TRUE(queue.Start());
  const auto count = [&](bool stopping) { ++(stopping ? dropped : ran); };
  ASSERT_TRUE(queue.TryPush(block.Task()));
  block.begun.get_future().wait();
  EXPECT_TRUE(queue.TryPush(count));
  EXPECT_TRUE(queue.TryPush(count));
  EXPECT_FALSE(queue.TryPush(count));
  block.go.set_value();
  queue.Stop();
  EXPECT_EQ(ran + dropped, 2);
}

TEST(WorkQueue, StopTellsTasksWhoseTurnDidNotCome) {
  Block block;
  std::promise<bool> told;
  WorkQueue queue(1, 5);
  ASSERT_TRUE(queue.Start());
  ASSERT_TRUE(queue.TryPush(block.Task()));
  block.begun.get_future().wait();
  ASSERT_TRUE(queue.TryPush([&](bool stopping) { told.set_value(stopping); }));
  std::thread stopper([&] { queue.Stop(); });
  EXPECT_TRUE(told.get_future().get());
  block.go.set_value();
  stopper.join();
  EXPECT_FALSE(queue.TryPush([](bool) {}));
  queue.Stop();
}

}  // namespace
}  // namespace assay
