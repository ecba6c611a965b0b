// Backoff: how long to wait before a request is sent again, and when to give up. Pauses grow from a quarter of a second to ten, with some chance in them, so
// that those whom a restart cut off at one moment do not all come back at another. Not thread safe, but for the Pause that it waits on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace assay::platform {

// What a waiting thread can be woken up by. Thread safe.
class Pause {
 public:
  // False where it was cancelled, now or before.
  bool Wait(std::chrono::milliseconds length);
  void Cancel();
  bool cancelled() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
};

class Backoff {
 public:
  // Gives up once `patience` has gone by since the beginning, or the last Reset. Zero: at the first failure.
  Backoff(Pause& pause, std::chrono::milliseconds patience);

  // Waits before another attempt, at least for `asked`, up to a minute. False: the patience is over, or the pause was cancelled.
  bool Wait(std::chrono::milliseconds asked = {});
  // Something went well.
  void Reset();

 private:
  Pause& pause_;
  const std::chrono::milliseconds patience_;
  std::chrono::steady_clock::time_point since_;
  int failures_ = 0;
};

}  // namespace assay::platform
