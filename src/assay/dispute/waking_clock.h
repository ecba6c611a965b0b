// WakingClock: the referee's time, which stands still while the referee does. A process that was stopped (Ctrl-Z), a machine that was suspended or frozen: what the
// monotonic clock went on to in the meantime is charged to nobody, since nobody could be heard.
//
// A beat says that the process runs. Time that passes between two beats counts, up to a limit that no process which runs comes near. Thread safe.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace assay::dispute {

// The time that was spent awake, as far as it follows from the times of the beats.
class WakingTime {
 public:
  static constexpr std::int64_t kLongestBeatMs = 2'000;
  explicit WakingTime(std::int64_t now_ms) : last_ms_(now_ms), awake_ms_(now_ms) {}
  // The time awake at this beat.
  std::int64_t Beat(std::int64_t now_ms) {
    awake_ms_ += std::clamp<std::int64_t>(now_ms - last_ms_, 0, kLongestBeatMs);
    last_ms_ = std::max(last_ms_, now_ms);
    return awake_ms_;
  }

 private:
  std::int64_t last_ms_, awake_ms_;
};

class WakingClock {
 public:
  WakingClock();
  ~WakingClock();
  WakingClock(const WakingClock&) = delete;
  WakingClock& operator=(const WakingClock&) = delete;
  // Milliseconds.
  std::int64_t NowMs();

 private:
  std::mutex mutex_;  // over the next two
  WakingTime time_;
  bool over_ = false;
  std::condition_variable ended_;
  std::thread beats_;
};

}  // namespace assay::dispute
