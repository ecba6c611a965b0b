// Halt: why some work should stop, told from any thread, and sleep that ends when it is told.
//
// The first reason counts. Thread safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "assay/worker/link.h"

namespace assay::worker {

class Halt {
 public:
  enum class Reason : std::uint8_t {
    kNone,
    kLeaving,    // the process ends; the work may be taken up again
    kEnded,      // the lease is over
    kCancelled,  // the order is
    kLimit,      // the work takes more than it may; words() say of what
  };

  // `on_stop` ends whatever the work waits for; called once, by who stops it.
  explicit Halt(std::function<void()> on_stop = {}) : on_stop_(std::move(on_stop)) {}

  void Stop(Reason reason, std::string words = "") {
    {
      const std::lock_guard lock(mutex_);
      if (reason_ != Reason::kNone) return;
      words_ = std::move(words);
      reason_ = reason;
    }
    changed_.notify_all();
    if (on_stop_) on_stop_();
  }
  bool stopped() const { return reason_ != Reason::kNone; }
  Reason reason() const { return reason_; }
  std::string words() const {
    const std::lock_guard lock(mutex_);
    return words_;
  }
  // Sleeps; true when it was stopped.
  bool Wait(std::int64_t ms) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(ms), [&] { return stopped(); });
    return stopped();
  }

 private:
  const std::function<void()> on_stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<Reason> reason_{Reason::kNone};
  std::string words_;
};

// Repeats a call while it may succeed later, more and more rarely, until it is stopped.
template <class T>
Call<T> Patiently(Halt& halt, const std::function<Call<T>()>& call) {
  constexpr std::int64_t kFirstPauseMs = 200, kLongestPauseMs = 10'000;
  std::int64_t pause_ms = kFirstPauseMs;
  while (true) {
    if (halt.stopped()) return tl::unexpected(CallError{CallError::Kind::kInterrupted, "stopped"});
    Call<T> result = call();
    if (result) return result;
    if (result.error().kind == CallError::Kind::kInterrupted) continue;  // what was meant may have been an earlier call
    if (result.error().kind != CallError::Kind::kLater) return result;
    halt.Wait(std::clamp(result.error().retry_ms, pause_ms, kLongestPauseMs));
    pause_ms = std::min(2 * pause_ms, kLongestPauseMs);
  }
}

}  // namespace assay::worker
