#include "assay/run/rounding_shelf.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "assay/base/file.h"
#include "assay/run/rounding_logs.h"
#include "support/scratch.h"

namespace assay {
namespace {

class RoundingShelfTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = scratch_ / "rounding-shelf";
    RoundingLogs logs = RoundingLogs::Open(directory_).value();
    for (std::int64_t step = 1; step <= 7; ++step) {
      logs.Add(step, LogOf(step));
      if (step == 3 || step == 7) {
        ASSERT_TRUE(logs.Write());
      }
    }
  }
  // The second is empty.
  static Bytes LogOf(std::int64_t step) {
    Bytes log(static_cast<std::size_t>((step - 2) * (step - 2)) * 1000);
    for (std::size_t i = 0; i < log.size(); ++i) log[i] = static_cast<std::uint8_t>(i * 7 + static_cast<std::size_t>(step));
    return log;
  }
  testkit::Scratch scratch_;
  std::string directory_;
};

TEST_F(RoundingShelfTest, GivesPartsOfLogs) {
  const RoundingShelf shelf = RoundingShelf::Open(directory_).value();
  for (std::int64_t step = 1; step <= 7; ++step) {
    const Bytes log = LogOf(step);
    EXPECT_EQ(shelf.Size(step).value(), log.size());
    EXPECT_EQ(shelf.Leaf(step).value(), RoundingLeafOf(log));
    Bytes joined;
    for (std::uint64_t begin = 0; begin < log.size(); begin += 999) {
      const Bytes part = shelf.Read(step, begin, 999).value();
      joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, log);
    EXPECT_TRUE(shelf.Read(step, log.size(), 1).value().empty());
    EXPECT_FALSE(shelf.Read(step, log.size() + 1, 1));
    EXPECT_EQ(shelf.Read(step, 0, UINT64_MAX).value(), log);
  }
  for (const std::int64_t none : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{8}, INT64_MAX})
    EXPECT_FALSE(shelf.Size(none));
}

TEST_F(RoundingShelfTest, DamagedBundlesAreRefused) {
  const std::string path = directory_ + "/steps-0000000001-0000000003.bin";
  const Bytes whole = ReadFile(path, 1 << 20).value();
  for (const std::size_t size : {std::size_t{0}, std::size_t{30}, whole.size() - 1}) {
    ASSERT_TRUE(WriteFileAtomic(path, ByteSpan(whole).first(size)));
    EXPECT_FALSE(RoundingShelf::Open(directory_)) << size;
  }
  ASSERT_TRUE(WriteFileAtomic(path, whole));
  // Cut off while it is open.
  const RoundingShelf shelf = RoundingShelf::Open(directory_).value();
  ASSERT_TRUE(WriteFileAtomic(path, ByteSpan(whole).first(whole.size() - 1)));
  EXPECT_TRUE(shelf.Leaf(1));
  EXPECT_FALSE(shelf.Leaf(3));
}

TEST(RoundingShelf, OfNothing) { EXPECT_FALSE(RoundingShelf::Open(::testing::TempDir() + "/no-such-folder").value().Size(1)); }

}  // namespace
}  // namespace assay
