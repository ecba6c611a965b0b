#include "assay/store/clock.h"

#include <chrono>
#include <thread>

namespace assay::store {
namespace {

class MachineClock final : public Clock {
 public:
  std::int64_t WallMs() const override { return Milliseconds(std::chrono::system_clock::now().time_since_epoch()); }
  std::int64_t SteadyMs() const override { return Milliseconds(std::chrono::steady_clock::now().time_since_epoch()); }
  void SleepMs(std::int64_t duration_ms) override { std::this_thread::sleep_for(std::chrono::milliseconds(duration_ms)); }

 private:
  template <class Duration>
  static std::int64_t Milliseconds(Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  }
};

}  // namespace

std::shared_ptr<Clock> SystemClock() { return std::make_shared<MachineClock>(); }

}  // namespace assay::store
