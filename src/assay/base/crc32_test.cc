#include "assay/base/crc32.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Crc32, PublishedVectors) {
  EXPECT_EQ(Crc32({}), 0u);
  EXPECT_EQ(Crc32(AsBytes("123456789")), 0xcbf43926u);
  EXPECT_EQ(Crc32(AsBytes("The quick brown fox jumps over the lazy dog")), 0x414fa339u);
}

}  // namespace
}  // namespace assay
