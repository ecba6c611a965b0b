#include "assay/dispute/waking_clock.h"

#include <chrono>

namespace assay::dispute {
namespace {

constexpr std::chrono::milliseconds kBeat{200};

std::int64_t SteadyMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

WakingClock::WakingClock()
    : time_(SteadyMs()), beats_([this] {
        std::unique_lock lock(mutex_);
        while (!ended_.wait_for(lock, kBeat, [&] { return over_; })) time_.Beat(SteadyMs());
      }) {}

WakingClock::~WakingClock() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  beats_.join();
}

std::int64_t WakingClock::NowMs() {
  const std::lock_guard lock(mutex_);
  return time_.Beat(SteadyMs());
}

}  // namespace assay::dispute
