#include "assay/monitor/recorder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>

#include "assay/monitor/telemetry.h"
#include "assay/monitor/usage.h"
#include "support/scratch.h"

namespace assay::monitor {
namespace {

const Digest kTrajectory = HashBytes(AsBytes("trajectory"));

class RecorderTest : public testing::Test {
 protected:
  SessionRecord SessionFrom(std::int64_t first) const {
    return {.job = kTrajectory,
            .trajectory = kTrajectory,
            .signer = key_.verify_key().ToString(),
            .first_step = first,
            .steps = 20,
            .epoch_samples = 10,
            .step_samples = 2,
            .device = "cpu",
            .threads = 1};
  }
  Telemetry Read() const { return ReadTelemetry(ReadFile(path_, 1 << 20).value(), kTrajectory, key_.verify_key()); }
  // Clocks that a test turns.
  Instruments Turned() {
    return {.now = [this] { return Stamp{mono_us_.fetch_add(1), wall_us_.load()}; },
            .read = [this] { return SampleRecord{.cpu_us = mono_us_.load(), .resident = 1000}; }};
  }

  testkit::Scratch scratch_;
  std::string path_ = scratch_ / "telemetry.bin";
  SigningKey key_ = SigningKey::Generate("test");
  std::atomic<std::int64_t> mono_us_ = 5'000'000, wall_us_ = 1'000'000;
};

TEST_F(RecorderTest, KeepsStepsSamplesAndSeals) {
  std::vector<std::uint64_t> told;
  {
    Recorder recorder({.interval_ms = 10, .write_ms = 10, .on_record = [&](const Record& record, const Digest&) {
                         told.push_back(record.index);
                       }});
    ASSERT_TRUE(recorder.Start(path_, SessionFrom(0), key_));
    for (std::int64_t step = 1; step <= 7; ++step) ASSERT_TRUE(recorder.Step(step, 0.5f * static_cast<float>(step)));
    bool sampled = false;  // by its own thread, which a busy machine may keep waiting
    for (int i = 0; i < 2000 && !sampled; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      sampled = recorder.TakeFigures().has_value();
    }
    EXPECT_TRUE(sampled);
    ASSERT_TRUE(recorder.Seal(7, {.origin = "x", .size = 3, .root = kTrajectory}, true));
  }
  const Telemetry telemetry = Read();
  EXPECT_EQ(telemetry.scan.end, ChainScan::End::kWhole) << telemetry.scan.problem;
  EXPECT_FALSE(telemetry.disorder) << *telemetry.disorder;
  EXPECT_TRUE(telemetry.ends_sealed);
  ASSERT_EQ(telemetry.sessions.size(), 1u);
  const Session& session = telemetry.sessions[0];
  EXPECT_EQ(session.record.interval_ms, 10u);
  ASSERT_EQ(session.steps.size(), 7u);
  EXPECT_EQ(session.steps[6].body.epoch, 1);
  EXPECT_EQ(session.steps[6].body.iteration, 1);
  EXPECT_EQ(session.steps[6].body.loss_bits, std::bit_cast<std::uint32_t>(3.5f));
  EXPECT_GE(session.samples.size(), 3u);
  EXPECT_GT(session.samples.back().body.resident, 1 << 20);
  ASSERT_EQ(session.seals.size(), 1u);
  EXPECT_TRUE(session.seals[0].body.final);
  EXPECT_EQ(session.seals[0].body.log_size, 3u);
  ASSERT_EQ(told.size(), telemetry.scan.records);
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], i);
}

TEST_F(RecorderTest, ASessionThatGoesOnReplacesWhatWasNotKept) {
  for (const std::int64_t first : {0, 3}) {
    Recorder recorder({.interval_ms = 1000});
    ASSERT_TRUE(recorder.Start(path_, SessionFrom(first), key_));
    for (std::int64_t step = first + 1; step <= first + 5; ++step) ASSERT_TRUE(recorder.Step(step, static_cast<float>(first)));
    ASSERT_TRUE(recorder.Seal(first + 5, {}, false));
    ASSERT_TRUE(recorder.Step(first + 6, 0));  // lost: a session that is not sealed ends like one that is killed
  }
  const Telemetry telemetry = Read();
  EXPECT_EQ(telemetry.sessions.size(), 2u);
  EXPECT_FALSE(telemetry.disorder) << *telemetry.disorder;
  const auto steps = CountingSteps(telemetry);
  ASSERT_EQ(steps.size(), 8u);
  EXPECT_EQ(steps.at(3).loss_bits, 0u);
  EXPECT_EQ(steps.at(4).loss_bits, std::bit_cast<std::uint32_t>(3.0f));
}

// A seal takes a sample of its own, perhaps while the other thread takes one.
TEST_F(RecorderTest, SamplesStandInTheOrderInWhichTheyWereTaken) {
  std::atomic<std::int64_t> reads = 0;
  Instruments instruments = Instruments::OfTheSystem(false);
  instruments.read = [&] {
    const std::int64_t number = reads++;
    if (number % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return SampleRecord{.cpu_us = number};
  };
  {
    Recorder recorder({.interval_ms = 1, .instruments = instruments});
    ASSERT_TRUE(recorder.Start(path_, SessionFrom(0), key_));
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(recorder.Seal(0, {}, false));
  }
  const Telemetry telemetry = Read();
  EXPECT_FALSE(telemetry.disorder) << *telemetry.disorder;
}

TEST_F(RecorderTest, AJumpOfTheClockShows) {
  {
    Recorder recorder({.interval_ms = 600'000, .instruments = Turned()});
    ASSERT_TRUE(recorder.Start(path_, SessionFrom(0), key_));
    ASSERT_TRUE(recorder.Step(1, 1));
    wall_us_ -= 3'600'000'000;
    ASSERT_TRUE(recorder.Step(2, 1));
    ASSERT_TRUE(recorder.Seal(2, {}, false));
  }
  const Telemetry telemetry = Read();
  EXPECT_FALSE(telemetry.disorder) << *telemetry.disorder;
  EXPECT_NEAR(telemetry.clock_jump_s, 3600, 1);
}

// A write that fails is told by the calls that follow, and training ends with it.
TEST_F(RecorderTest, AFullDiskIsTold) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 700;  // the session fits, the seal does not
  Recorder recorder({.interval_ms = 1000});
  ASSERT_TRUE(recorder.Start(path_, SessionFrom(0), key_));
  ASSERT_TRUE(recorder.Step(1, 1));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status sealed = recorder.Seal(1, {}, false);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(sealed);
  EXPECT_NE(sealed.error().message.find("telemetry.bin"), std::string::npos) << sealed.error().message;
  EXPECT_FALSE(recorder.Step(2, 1));
}

TEST(Usage, TheSystemTells) {
  EXPECT_GT(ResidentBytes(), 1 << 20);
  EXPECT_GT(CpuSeconds(), 0);
  EXPECT_GT(AvailableMemory(), 0);
  EXPECT_GT(FreeDisk("/"), 0);
  EXPECT_GE(Cores(), 1);
}

TEST(Nvml, WhereThereIsNoLibraryThereIsNone) { EXPECT_EQ(Nvml::Open("libassay-no-such-library.so"), nullptr); }

}  // namespace
}  // namespace assay::monitor
