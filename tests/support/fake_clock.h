// FakeClock: time that passes when the test says so, and when somebody sleeps. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "assay/store/clock.h"

namespace assay::testkit {

class FakeClock final : public store::Clock {
 public:
  std::int64_t WallMs() const override { return wall_ms_; }
  std::int64_t SteadyMs() const override { return steady_ms_; }
  void SleepMs(std::int64_t duration_ms) override { Pass(duration_ms); }

  void Pass(std::int64_t duration_ms) {
    wall_ms_ += duration_ms;
    steady_ms_ += duration_ms;
  }
  void SetWall(std::int64_t wall_ms) { wall_ms_ = wall_ms; }  // somebody sets the clock of the machine

 private:
  std::atomic<std::int64_t> wall_ms_{1'700'000'000'000};
  std::atomic<std::int64_t> steady_ms_{0};
};

}  // namespace assay::testkit
