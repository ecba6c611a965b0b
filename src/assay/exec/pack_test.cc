#include "assay/exec/pack.h"

#include <gtest/gtest.h>

#include <vector>

#include "assay/base/philox.h"

namespace assay::exec {
namespace {

bool Together(const Buffer& a, const Buffer& b) { return a.begin <= b.end && b.begin <= a.end; }

bool Overlap(const Buffer& a, const Buffer& b) { return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes; }

std::vector<Buffer> RandomBuffers(std::uint32_t seed, std::uint32_t count) {
  std::vector<Buffer> buffers;
  for (std::uint32_t i = 0; i < count; ++i) {
    const PhiloxBlock draw = Philox({seed, 0}, {i, 0, 0, 0});
    const int begin = static_cast<int>(draw[0] % 50);
    buffers.push_back({draw[1] % 1000 == 0 ? 0 : draw[1] % 5000, begin, begin + static_cast<int>(draw[2] % 10), 0});
  }
  return buffers;
}

TEST(Pack, BuffersAliveTogetherNeverOverlap) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::vector<Buffer> buffers = RandomBuffers(seed, 1 + seed);
    const std::size_t total = Pack(buffers);
    EXPECT_GE(total, PackLowerBound(buffers));
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i].offset % kBufferAlignment, 0u);
      EXPECT_LE(buffers[i].offset + buffers[i].bytes, total);
      for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(Together(buffers[i], buffers[j]) && Overlap(buffers[i], buffers[j]));
    }
  }
}

TEST(Pack, ReusesTheMemoryOfTheDead) {
  std::vector<Buffer> buffers = {{6400, 0, 1, 0}, {6400, 2, 3, 0}, {3200, 4, 5, 0}, {3200, 4, 5, 0}};
  EXPECT_EQ(Pack(buffers), 6400u);
}

TEST(Pack, KeepsBothEndsOfALifetime) {
  std::vector<Buffer> buffers = {{64, 0, 1, 0}, {64, 1, 2, 0}};
  EXPECT_EQ(Pack(buffers), 128u);
}

TEST(Pack, EmptyBuffersHaveAPlaceOfTheirOwn) {
  std::vector<Buffer> buffers = {{0, 0, 1, 0}, {0, 0, 1, 0}};
  EXPECT_EQ(Pack(buffers), 128u);
  EXPECT_NE(buffers[0].offset, buffers[1].offset);
  EXPECT_EQ(Pack({}), 0u);
}

TEST(Pack, StaysCloseToTheLowerBound) {
  double worst = 1;
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    std::vector<Buffer> buffers = RandomBuffers(seed, 200);
    const std::size_t total = Pack(buffers);
    worst = std::max(worst, static_cast<double>(total) / static_cast<double>(PackLowerBound(buffers)));
  }
  EXPECT_LT(worst, 1.25);
}

}  // namespace
}  // namespace assay::exec
