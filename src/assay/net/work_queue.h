// A fixed number of threads that take tasks in the order of their arrival, with a bound on how many may wait. Thread safe, but Stop must
// not be called by a task.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "assay/base/result.h"

namespace assay {

class WorkQueue {
 public:
  // Each task is called exactly once: with false on one of the threads, or with true, by Stop, where its turn did not come. Tasks must
  // not throw.
  using Task = std::function<void(bool stopping)>;

  // `max_waiting` tasks may wait while all threads are busy.
  WorkQueue(int threads, std::size_t max_waiting) : threads_wanted_(threads), max_waiting_(max_waiting) {}
  ~WorkQueue() { Stop(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  Status Start();
  // False where the queue is full or stopped; the task is then not called.
  bool TryPush(Task task);
  // Waits for the tasks that run.
  void Stop();

 private:
  void Work();

  const int threads_wanted_;
  const std::size_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> waiting_;
  std::size_t running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace assay
