// A fixed number of threads that run tasks of several peers, fairly: a peer that sends many does not keep the others waiting. Thread safe,
// but Stop must not be called by a task.
//
// Within a peer tasks run in the order of their arrival. Between peers, whose fewest tasks are running comes next, and of those whoever
// has gone longest without a turn. There are two lanes, which take turns while both have something to run: thousands of peers in the background do not keep one
// that has ordinary tasks waiting for a turn of each of them. A peer counts in each lane as one of its own. Finding who comes next takes as long for many as for
// few, or a queue that has grown once would not be worked off. A peer never holds more threads than it leaves free, one excepted: some thread stays free for whoever
// comes next until many peers press at once. Where no place is left to wait in, the peer with most waiting tasks gives up its latest
// for that of a peer with fewer.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "assay/base/result.h"

namespace assay {

class WorkQueue {
 public:
  enum class Turn {
    kRun,        // on one of the threads
    kDisplaced,  // its place went to another peer's; called by that one's TryPush
    kStopping,   // its turn did not come before Stop, which calls it
  };
  // Each task is called exactly once. Tasks must not throw.
  using Task = std::function<void(Turn turn)>;

  enum class Lane : std::uint8_t { kOrdinary, kBackground };

  struct Limits {
    int threads = 1;
    std::size_t waiting = 0;   // tasks that wait while all threads are busy
    std::size_t per_peer = 1;  // tasks of one peer that wait or run
  };

  explicit WorkQueue(const Limits& limits) : limits_(limits) {}
  ~WorkQueue() { Stop(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  Status Start();
  // False where the peer has as many tasks as it may, the queue is full or stopped; the task is then not called.
  bool TryPush(const std::string& peer, Task task, Lane lane = Lane::kOrdinary);
  // Waits for the tasks that run.
  void Stop();

 private:
  struct Peer {
    std::deque<Task> waiting;
    std::size_t running = 0;
    std::uint64_t last_turn = 0;  // on `clock_`; of one that has none at the moment, its arrival
  };
  using Peers = std::map<std::pair<Lane, std::string>, Peer>;
  // Of peers that have something waiting: by the tasks that run and the last turn, which no two peers share.
  using Line = std::map<std::pair<std::size_t, std::uint64_t>, Peers::iterator>;

  void Work();
  bool MayRun(const Line& line) const;
  Line* NextLine();
  // A peer leaves its line before anything about it changes, and comes back to it afterwards.
  void Leave(Peers::iterator peer);
  void Return(Peers::iterator peer);
  bool MakeRoom(std::size_t own_waiting, Task& displaced);

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Peers peers_;  // those with tasks
  std::array<Line, 2> lines_;
  std::size_t last_lane_ = 0;
  std::size_t waiting_ = 0;
  std::size_t running_ = 0;
  std::uint64_t clock_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay
