#include "assay/net/work_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace assay {
namespace {

using Turn = WorkQueue::Turn;

constexpr std::size_t kMany = 1000;

// Holds one thread of a queue until it is let go.
struct Block {
  std::promise<void> begun;
  std::promise<void> go;
  WorkQueue::Task Task() {
    return [this](Turn) {
      begun.set_value();
      go.get_future().wait();
    };
  }
};

TEST(WorkQueue, RunsEveryTaskOnce) {
  WorkQueue queue({.threads = 3, .waiting = kMany, .per_peer = kMany});
  ASSERT_TRUE(queue.Start());
  std::atomic<int> ran = 0;
  std::promise<void> all;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(queue.TryPush("a", [&](Turn) {
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
  WorkQueue queue({.threads = 1, .waiting = 2, .per_peer = kMany});
  ASSERT_TRUE(queue.Start());
  const auto count = [&](Turn turn) { ++(turn == Turn::kRun ? ran : dropped); };
  ASSERT_TRUE(queue.TryPush("a", block.Task()));
  block.begun.get_future().wait();
  EXPECT_TRUE(queue.TryPush("a", count));
  EXPECT_TRUE(queue.TryPush("a", count));
  EXPECT_FALSE(queue.TryPush("a", count));
  block.go.set_value();
  queue.Stop();
  EXPECT_EQ(ran + dropped, 2);
}

TEST(WorkQueue, StopTellsTasksWhoseTurnDidNotCome) {
  Block block;
  std::promise<Turn> told;
  WorkQueue queue({.threads = 1, .waiting = 5, .per_peer = kMany});
  ASSERT_TRUE(queue.Start());
  ASSERT_TRUE(queue.TryPush("a", block.Task()));
  block.begun.get_future().wait();
  ASSERT_TRUE(queue.TryPush("a", [&](Turn turn) { told.set_value(turn); }));
  std::thread stopper([&] { queue.Stop(); });
  EXPECT_EQ(told.get_future().get(), Turn::kStopping);
  block.go.set_value();
  stopper.join();
  EXPECT_FALSE(queue.TryPush("a", [](Turn) {}));
  queue.Stop();
}

TEST(WorkQueue, APeerHasNoMoreThanItsShare) {
  Block block;
  WorkQueue queue({.threads = 1, .waiting = 100, .per_peer = 3});
  ASSERT_TRUE(queue.Start());
  ASSERT_TRUE(queue.TryPush("a", block.Task()));
  EXPECT_TRUE(queue.TryPush("a", [](Turn) {}));
  EXPECT_TRUE(queue.TryPush("a", [](Turn) {}));
  EXPECT_FALSE(queue.TryPush("a", [](Turn) {}));
  EXPECT_TRUE(queue.TryPush("b", [](Turn) {}));
  block.go.set_value();
  queue.Stop();
}

// What one thread runs after a block, in the order in which it does.
std::vector<std::string> OrderOf(const std::vector<std::string>& peers) {
  Block block;
  WorkQueue queue({.threads = 1, .waiting = kMany, .per_peer = kMany});
  EXPECT_TRUE(queue.Start());
  EXPECT_TRUE(queue.TryPush("block", block.Task()));
  block.begun.get_future().wait();
  std::vector<std::string> ran;
  std::promise<void> all;
  for (const std::string& peer : peers) {
    EXPECT_TRUE(queue.TryPush(peer, [&, peer](Turn) {
      ran.push_back(peer);
      if (ran.size() == peers.size()) all.set_value();
    }));
  }
  block.go.set_value();
  all.get_future().wait();
  return ran;
}

TEST(WorkQueue, PeersTakeTurns) {
  using Order = std::vector<std::string>;
  EXPECT_EQ(OrderOf({"a", "a", "a", "a", "b"}), (Order{"a", "b", "a", "a", "a"}));
  EXPECT_EQ(OrderOf({"a", "a", "a", "b", "b", "c"}), (Order{"a", "b", "c", "a", "b", "a"}));
}

// Many peers that have one task each, and one that has several: in lanes of their own these are taken in turns.
TEST(WorkQueue, LanesTakeTurns) {
  Block block;
  WorkQueue queue({.threads = 1, .waiting = kMany, .per_peer = kMany});
  ASSERT_TRUE(queue.Start());
  ASSERT_TRUE(queue.TryPush("block", block.Task()));
  block.begun.get_future().wait();
  std::string ran;
  std::promise<void> all;
  const auto push = [&](const std::string& peer, char letter, WorkQueue::Lane lane) {
    EXPECT_TRUE(queue.TryPush(
        peer,
        [&, letter](Turn) {
          ran += letter;
          if (ran.size() == 10) all.set_value();
        },
        lane));
  };
  for (int i = 0; i < 7; ++i) push(std::to_string(i), 'b', WorkQueue::Lane::kBackground);
  for (int i = 0; i < 3; ++i) push("0", 'o', WorkQueue::Lane::kOrdinary);
  block.go.set_value();
  all.get_future().wait();
  EXPECT_EQ(ran, "bobobobbbb");
}

// A queue of eight times as many peers takes eight times as long to work off, and not sixty-four times.
TEST(WorkQueue, AQueueOfManyPeersIsWorkedOff) {
  const auto seconds = [](int peers) {
    Block block;
    WorkQueue queue({.threads = 1, .waiting = 40'000, .per_peer = kMany});
    EXPECT_TRUE(queue.Start());
    EXPECT_TRUE(queue.TryPush("block", block.Task()));
    int ran = 0;
    std::promise<void> all;
    for (int i = 0; i < peers; ++i) {
      EXPECT_TRUE(queue.TryPush("peer" + std::to_string(i), [&](Turn) {
        if (++ran == peers) all.set_value();
      }));
    }
    const std::clock_t begun = std::clock();
    block.go.set_value();
    all.get_future().wait();
    return static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  };
  const double few = seconds(4000);
  EXPECT_LT(seconds(32'000), 30 * std::max(few, 0.001));
}

TEST(WorkQueue, ThreadsStayFreeForOthers) {
  std::mutex mutex;
  std::vector<std::string> inside;
  std::promise<void> go;
  const auto gone = go.get_future().share();
  WorkQueue queue({.threads = 4, .waiting = kMany, .per_peer = kMany});
  ASSERT_TRUE(queue.Start());
  const auto push = [&](const std::string& peer) {
    EXPECT_TRUE(queue.TryPush(peer, [&, peer](Turn turn) {
      if (turn != Turn::kRun) return;
      {
        const std::lock_guard lock(mutex);
        inside.push_back(peer);
      }
      gone.wait();
    }));
  };
  const auto await = [&](std::size_t count) {
    for (;;) {
      {
        const std::lock_guard lock(mutex);
        if (inside.size() >= count) return;
      }
      std::this_thread::yield();
    }
  };
  for (int i = 0; i < 20; ++i) push("greedy");
  await(2);
  push("second");
  await(3);
  push("third");
  await(4);
  {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(inside, (std::vector<std::string>{"greedy", "greedy", "second", "third"}));
  }
  go.set_value();
  queue.Stop();
}

TEST(WorkQueue, AFullQueueMakesRoomForThoseWithLess) {
  Block block;
  WorkQueue queue({.threads = 1, .waiting = 4, .per_peer = kMany});
  ASSERT_TRUE(queue.Start());
  ASSERT_TRUE(queue.TryPush("block", block.Task()));
  block.begun.get_future().wait();
  std::vector<int> displaced;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(queue.TryPush("greedy", [&displaced, i](Turn turn) {
      if (turn == Turn::kDisplaced) displaced.push_back(i);
    }));
  }
  const auto nothing = [](Turn) {};
  EXPECT_FALSE(queue.TryPush("greedy", nothing));
  EXPECT_TRUE(queue.TryPush("b", nothing));
  EXPECT_EQ(displaced, (std::vector<int>{3}));
  EXPECT_TRUE(queue.TryPush("c", nothing));
  EXPECT_EQ(displaced, (std::vector<int>{3, 2}));
  // Two against one: taking one would only turn them round.
  EXPECT_FALSE(queue.TryPush("b", nothing));
  EXPECT_TRUE(queue.TryPush("d", nothing));
  EXPECT_EQ(displaced, (std::vector<int>{3, 2, 1}));
  EXPECT_FALSE(queue.TryPush("e", nothing));
  block.go.set_value();
  queue.Stop();
}

}  // namespace
}  // namespace assay
