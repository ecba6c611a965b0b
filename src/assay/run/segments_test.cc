#include "assay/run/segments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace assay {
namespace {

TEST(Segments, CoverEveryStepOnce) {
  EXPECT_EQ(SegmentsOf(10, 0), (std::vector<Segment>{{0, 10}}));
  EXPECT_EQ(SegmentsOf(10, 4), (std::vector<Segment>{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(SegmentsOf(8, 4), (std::vector<Segment>{{0, 4}, {4, 8}}));
  EXPECT_EQ(SegmentsOf(3, 100), (std::vector<Segment>{{0, 3}}));
  for (const std::int64_t every : {0, 1, 3, 4, 10, 100}) {
    const std::vector<Segment> all = SegmentsOf(10, every);
    for (std::int64_t begin = -1; begin <= 11; ++begin) {
      for (std::int64_t end = -1; end <= 21; ++end) {
        EXPECT_EQ(IsSegment({begin, end}, 10, every), std::ranges::find(all, Segment{begin, end}) != all.end())
            << begin << " " << end << " " << every;
      }
    }
  }
}

TEST(Segments, ShareIsRoundedUpAndNeverNothing) {
  EXPECT_EQ(SampleSize(10, 10), 1);
  EXPECT_EQ(SampleSize(10, 11), 2);
  EXPECT_EQ(SampleSize(10, 0.001), 1);
  EXPECT_EQ(SampleSize(10, 100), 10);
  EXPECT_EQ(SampleSize(1, 50), 1);
}

TEST(Segments, DrawDependsOnReceiptAndNonceAlone) {
  const Digest receipt = HashBytes(AsBytes("receipt"));
  const Bytes nonce = {1, 2, 3};
  // Computed by the rule of docs/formats/receipt.md in another language: tests/vectors/sample.py.
  EXPECT_EQ(DrawSegments(receipt, nonce, 20, 5), (std::vector<std::int64_t>{4, 9, 10, 16, 17}));
  EXPECT_NE(DrawSegments(receipt, Bytes{1, 2, 4}, 20, 5), DrawSegments(receipt, nonce, 20, 5));
  EXPECT_NE(DrawSegments(HashBytes(AsBytes("other")), nonce, 20, 5), DrawSegments(receipt, nonce, 20, 5));
  EXPECT_EQ(DrawSegments(receipt, nonce, 4, 4), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_TRUE(DrawSegments(receipt, nonce, 4, 0).empty());
}

TEST(Segments, EverySegmentIsDrawnAsOften) {
  const Digest receipt = HashBytes(AsBytes("receipt"));
  constexpr int kDraws = 20000;
  std::vector<int> hits(10);
  int caught = 0;  // with segments 2 and 5 bad
  for (int i = 0; i < kDraws; ++i) {
    const Bytes nonce = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8)};
    const auto drawn = DrawSegments(receipt, nonce, 10, 3);
    EXPECT_EQ(std::set<std::int64_t>(drawn.begin(), drawn.end()).size(), 3u);
    for (const std::int64_t s : drawn) ++hits[static_cast<std::size_t>(s)];
    caught += std::count(drawn.begin(), drawn.end(), 2) + std::count(drawn.begin(), drawn.end(), 5) > 0 ? 1 : 0;
  }
  for (const int count : hits) EXPECT_NEAR(count, kDraws * 0.3, 5 * 65);  // five standard deviations
  const double expected = ChanceOfCatching(10, 3, 2);
  EXPECT_NEAR(caught, kDraws * expected, 5 * std::sqrt(kDraws * expected * (1 - expected)));
}

TEST(Segments, Chances) {
  EXPECT_DOUBLE_EQ(ChanceOfCatching(10, 1, 1), 0.1);
  EXPECT_DOUBLE_EQ(ChanceOfCatching(10, 3, 2), 1 - 42.0 / 90);
  EXPECT_DOUBLE_EQ(ChanceOfCatching(10, 10, 1), 1);
  EXPECT_DOUBLE_EQ(ChanceOfCatching(10, 5, 6), 1);
  EXPECT_DOUBLE_EQ(ChanceOfCatching(10, 5, 0), 0);
}

}  // namespace
}  // namespace assay
