#include "assay/cli/text.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

TEST(Text, Counts) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(2.5), "2.50");
  EXPECT_EQ(Count(950), "950");
  EXPECT_EQ(Count(1234), "1.23k");
  EXPECT_EQ(Count(12345), "12.3k");
  EXPECT_EQ(Count(999999), "1.00M");
  EXPECT_EQ(Count(4.57e9), "4.57G");
  EXPECT_EQ(Count(1.0 / 0.0), "-");
}

TEST(Text, BytesDurationsAndGroups) {
  EXPECT_EQ(ByteCount(512), "512 B");
  EXPECT_EQ(ByteCount(1.5 * 1024 * 1024), "1.50 MiB");
  EXPECT_EQ(Duration(0.42), "0.4s");
  EXPECT_EQ(Duration(59.6), "1m00s");
  EXPECT_EQ(Duration(125), "2m05s");
  EXPECT_EQ(Duration(3 * 3600 + 600), "3h10m");
  EXPECT_EQ(Duration(2 * 86400 + 4 * 3600), "2d04h");
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(124439808), "124,439,808");
  EXPECT_EQ(Grouped(-1234567), "-1,234,567");
}

TEST(Text, TableAligns) {
  EXPECT_EQ(Table({{"op", "ms"}, {"matmul", "1.5"}, {"a", "10.25"}}), "op         ms\nmatmul    1.5\na       10.25\n");
}

TEST(Text, OneIsNotMany) {
  EXPECT_EQ(Plural(1, "round"), "1 round");
  EXPECT_EQ(Plural(0, "round"), "0 rounds");
  EXPECT_EQ(Plural(12000, "step"), "12,000 steps");
}

}  // namespace
}  // namespace assay::cli
