// How long digits and products take, on a machine that other work slows down now and then.
#include "assay/cli/timing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "assay/ops/digits.h"
#include "assay/ops/table.h"

namespace assay::cli {
namespace {

// Digits take 1 ms and the whole op 15 ms, but the first run of either takes 60 ms.
class SlowAtFirst final : public HostBackend {
 public:
  SlowAtFirst(ThreadPool& pool, bool parts) : HostBackend(pool), parts_(parts) {}
  std::string_view name() const override { return "slow at first"; }
  void Run(const KernelArgs&) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(runs_++ == 0 ? 60 : leaves_out_ ? 1 : 15));
    if (!leaves_out_) ++whole_runs;
  }
  void RunElements(const KernelArgs&, std::int64_t, std::int64_t) override {}
  bool in_place() const override { return false; }
  bool LeaveOutProducts(bool leave) override {
    leaves_out_ = parts_ && leave;
    runs_ = 0;
    return parts_;
  }

  int whole_runs = 0;

 private:
  bool parts_;
  bool leaves_out_ = false;
  int runs_ = 1;
};

OpInstance Product(int digits) {
  return {.def = &Ops()[op::matmul], .attrs = ops::WithDigits({std::int64_t{0}, std::int64_t{0}}, digits), .in = {}, .out = {}};
}

OpTiming TimingOf(SlowAtFirst& backend, int digits) {
  TimingBackend timing(backend, Ops().size());
  const OpInstance product = Product(digits);
  timing.Run({.op = &product, .in = {}, .out = {}});
  return timing.Timings()[op::matmul];
}

TEST(Timing, OneSlowRunOfDigitsLeavesTheProductsTheirTime) {
  ThreadPool pool(1);
  SlowAtFirst backend(pool, true);
  const OpTiming timing = TimingOf(backend, 2);
  EXPECT_EQ(timing.calls, 1);
  EXPECT_GE(timing.digit_seconds, 0.001);
  EXPECT_GE(timing.seconds, 0.015);
  EXPECT_LT(timing.digit_seconds, timing.seconds);
  EXPECT_GE(backend.whole_runs, 3);
}

TEST(Timing, WhatIsNotToldApartIsRunOnce) {
  ThreadPool pool(1);
  SlowAtFirst whole(pool, false), fp32(pool, true);
  EXPECT_EQ(TimingOf(whole, 2).digit_seconds, 0);
  EXPECT_EQ(whole.whole_runs, 1);
  EXPECT_EQ(TimingOf(fp32, 0).digit_seconds, 0);
  EXPECT_EQ(fp32.whole_runs, 1);
}

}  // namespace
}  // namespace assay::cli
