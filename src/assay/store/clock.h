// Time as the store sees it: an interface, so that a simulation decides what time it is and no test has to wait.
#pragma once

#include <cstdint>
#include <memory>

namespace assay::store {

// Implementations are thread safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since 1970. It may be wrong, jump, and differ between machines: fit to say how old something is, never to decide an order.
  virtual std::int64_t WallMs() const = 0;
  // Milliseconds since some moment; it only ever grows.
  virtual std::int64_t SteadyMs() const = 0;
  virtual void SleepMs(std::int64_t duration_ms) = 0;
};

// The clock of this machine.
std::shared_ptr<Clock> SystemClock();

}  // namespace assay::store
