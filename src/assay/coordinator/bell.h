// Bell: tells threads of this process that something may have changed, so that they need not wait for their next look at the database. Thread safe.
//
//     const std::uint64_t heard = bell.count();
//     … look …
//     bell.WaitAfter(heard, 200);   // returns at once where it has been rung since `count`
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace assay::coordinator {

class Bell {
 public:
  void Ring() {
    const std::lock_guard lock(mutex_);
    ++count_;
    rung_.notify_all();
  }
  std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  // True where it was rung after `heard` strokes; false after `wait_ms`.
  bool WaitAfter(std::uint64_t heard, std::int64_t wait_ms) const {
    std::unique_lock lock(mutex_);
    return rung_.wait_for(lock, std::chrono::milliseconds(wait_ms), [&] { return count_ != heard; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable rung_;
  std::uint64_t count_ = 0;
};

}  // namespace assay::coordinator
