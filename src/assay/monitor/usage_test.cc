#include "assay/monitor/usage.h"

#include <gtest/gtest.h>

#include <limits>

#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay::monitor {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

class GroupTest : public testing::Test {
 protected:
  void Write(const char* name, const char* text) {
    ASSERT_TRUE(WriteFileAtomic(folder_ / name, AsBytes(std::string_view(text))));
  }
  std::int64_t Left() { return LeftInGroup(folder_.path()); }

  testkit::Scratch folder_;
};

TEST_F(GroupTest, WithoutALimitThereIsNone) {
  EXPECT_EQ(Left(), kNoLimit);
  Write("memory.max", "max\n");
  Write("memory.current", "1000\n");
  EXPECT_EQ(Left(), kNoLimit);
}

// Pages of files that were read count as used until somebody needs the memory.
TEST_F(GroupTest, CachesGiveWay) {
  Write("memory.max", "5000\n");
  Write("memory.current", "4900\n");
  EXPECT_EQ(Left(), 100);
  Write("memory.stat", "anon 700\nfile 4200\ninactive_file 4000\nactive_file 150\nslab_reclaimable 50\nslab 60\n");
  EXPECT_EQ(Left(), 4300);
  Write("memory.current", "6000\n");
  Write("memory.stat", "anon 6000\n");
  EXPECT_EQ(Left(), 0);
}

}  // namespace
}  // namespace assay::monitor
