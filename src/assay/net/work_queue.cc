#include "assay/net/work_queue.h"

#include <system_error>
#include <utility>

#include "assay/base/thread_pool.h"

namespace assay {

Status WorkQueue::Start() {
  try {
    for (int i = 0; i < threads_wanted_; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    Stop();
    return Err("cannot start {} worker threads: {}", threads_wanted_, error.code().message());
  }
  return {};
}

bool WorkQueue::TryPush(Task task) {
  const std::lock_guard guard(mutex_);
  if (stopping_ || running_ + waiting_.size() >= threads_.size() + max_waiting_) return false;
  waiting_.push_back(std::move(task));
  changed_.notify_one();
  return true;
}

void WorkQueue::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    // A task may compute what others compare bit by bit.
    SetIeeeFloatingPoint();
    task(false);
    task = nullptr;
    lock.lock();
    --running_;
  }
}

void WorkQueue::Stop() {
  std::deque<Task> dropped;
  std::vector<std::thread> threads;
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
    dropped.swap(waiting_);
    threads.swap(threads_);
    changed_.notify_all();
  }
  for (Task& task : dropped) task(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace assay
