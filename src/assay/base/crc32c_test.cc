#include "assay/base/crc32c.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// RFC 3720, appendix B.4, and the customary check value.
TEST(Crc32c, PublishedVectors) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c(Bytes(32, 0x00)), 0x8a9136aau);
  EXPECT_EQ(Crc32c(Bytes(32, 0xff)), 0x62a8ab43u);
  Bytes ascending(32);
  for (std::size_t i = 0; i < 32; ++i) ascending[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c({}), 0u);
}

}  // namespace
}  // namespace assay
