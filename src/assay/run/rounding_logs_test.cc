#include "assay/run/rounding_logs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay {
namespace {

class RoundingLogsTest : public ::testing::Test {
 protected:
  void SetUp() override { directory_ = scratch_ / "rounding-logs"; }
  static Bytes LogOf(std::int64_t step) { return Bytes(static_cast<std::size_t>(step * 3), static_cast<std::uint8_t>(step)); }
  RoundingLogs Opened() { return RoundingLogs::Open(directory_).value(); }
  testkit::Scratch scratch_;
  std::string directory_;
};

TEST_F(RoundingLogsTest, BundlesAreFoundByStep) {
  RoundingLogs logs = Opened();
  for (std::int64_t step = 1; step <= 10; ++step) {
    logs.Add(step, LogOf(step));
    if (step == 4 || step == 9) {
      ASSERT_TRUE(logs.Write());
    }
  }
  EXPECT_EQ(logs.Read(10).value(), LogOf(10));
  RoundingLogs again = Opened();
  for (std::int64_t step = 1; step <= 9; ++step) EXPECT_EQ(again.Read(step).value(), LogOf(step)) << step;
  EXPECT_FALSE(again.Read(10));
  EXPECT_FALSE(again.Read(0));
}

TEST_F(RoundingLogsTest, RemovingCutsABundle) {
  RoundingLogs logs = Opened();
  for (std::int64_t step = 1; step <= 9; ++step) logs.Add(step, LogOf(step));
  ASSERT_TRUE(logs.Write());
  ASSERT_TRUE(logs.RemoveAfter(6));
  RoundingLogs again = Opened();
  EXPECT_EQ(again.Read(6).value(), LogOf(6));
  EXPECT_FALSE(again.Read(7));
  ASSERT_TRUE(again.RemoveAfter(0));
  EXPECT_TRUE(ListDirectory(directory_).value().empty());
}

TEST_F(RoundingLogsTest, DamagedBundlesAreRefused) {
  RoundingLogs logs = Opened();
  for (std::int64_t step = 1; step <= 3; ++step) logs.Add(step, LogOf(step));
  ASSERT_TRUE(logs.Write());
  const std::string path = directory_ + "/steps-0000000001-0000000003.bin";
  const Bytes whole = ReadFile(path, 1 << 20).value();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(WriteFileAtomic(path, ByteSpan(whole).first(size)));
    EXPECT_FALSE(Opened().Read(2)) << size;
  }
}

TEST_F(RoundingLogsTest, NamesOfBundles) {
  EXPECT_TRUE(RoundingLogs::StepsIn("steps-0000000001-0000000003.bin"));
  for (const char* name : {"steps-0000000003-0000000001.bin", "steps-1-3.bin", "steps-0000000000-0000000003.bin",
                           "steps-000000000a-0000000003.bin", "step--0000000001-0000000003.bin", ""}) {
    EXPECT_FALSE(RoundingLogs::StepsIn(name)) << name;
  }
}

}  // namespace
}  // namespace assay
