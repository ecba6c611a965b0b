// The reductions against a specification that follows the words of docs/NUMERICS.md as naively as possible.
#include "assay/numerics/reduce.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "assay/base/philox.h"

namespace assay::numerics {
namespace {

using Values = std::vector<float>;

Values Draw(std::int64_t n, std::uint32_t stream) {
  Values values;
  for (std::int64_t i = 0; i < n; ++i) {
    const PhiloxBlock draw = Philox({3, 4}, {static_cast<std::uint32_t>(i), stream, 0, 0});
    values.push_back((static_cast<float>(draw[0] >> 8) * 0x1p-24f - 0.5f) * (draw[1] % 4 == 0 ? 1000.0f : 1.0f));
  }
  return values;
}

// One value per lane and step: lanes as columns of a table of rows of 32, missing elements +0.
float SpecRowPiece(const Values& products) {
  float lane[32] = {};
  for (std::size_t row = 0; row * 32 < products.size(); ++row) {
    for (std::size_t l = 0; l < 32; ++l) lane[l] = lane[l] + (row * 32 + l < products.size() ? products[row * 32 + l] : 0.0f);
  }
  for (std::size_t h : {16u, 8u, 4u, 2u, 1u}) {
    for (std::size_t l = 0; l < h; ++l) lane[l] = lane[l] + lane[l + h];
  }
  return lane[0];
}

float SpecRowSum(const Values& x) {
  if (x.size() <= 1024) return SpecRowPiece(x);
  Values sums;
  for (std::size_t begin = 0; begin < x.size(); begin += 1024) {
    const std::size_t end = std::min(begin + 1024, x.size());
    sums.push_back(
        SpecRowPiece(Values(x.begin() + static_cast<std::ptrdiff_t>(begin), x.begin() + static_cast<std::ptrdiff_t>(end))));
  }
  return SpecRowSum(sums);
}

float SpecColSum(const Values& x) {
  Values sums;
  float total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    total = total + x[i];
    if ((i + 1) % 64 == 0 || i + 1 == x.size()) {
      sums.push_back(total);
      total = 0;
    }
  }
  if (sums.empty()) return 0.0f;
  return sums.size() == 1 ? sums[0] : SpecColSum(sums);
}

auto At(const Values& values) {
  return [&values](std::int64_t i) { return values[static_cast<std::size_t>(i)]; };
}

constexpr std::int64_t kSizes[] = {0, 1, 2, 31, 32, 33, 63, 64, 65, 1000, 1023, 1024, 1025, 4096, 4097, 70000, 1024 * 1024 + 7};

TEST(Reduce, SumsFollowTheSpecification) {
  for (std::int64_t n : kSizes) {
    const Values x = Draw(n, 1);
    EXPECT_EQ(RowSum(n, At(x)), SpecRowSum(x)) << n;
    EXPECT_EQ(ColSum(n, At(x)), SpecColSum(x)) << n;
  }
}

// With y = 1 a fused multiply-add is an addition, so the first level of the products must be the first level of the sums.
TEST(Reduce, ProductsFollowTheSameOrder) {
  for (std::int64_t n : kSizes) {
    const Values x = Draw(n, 2), ones(static_cast<std::size_t>(n), 1.0f);
    EXPECT_EQ(RowDot(n, At(x), At(ones)), SpecRowSum(x)) << n;
    EXPECT_EQ(ColDot(n, At(x), At(ones)), SpecColSum(x)) << n;
    EXPECT_EQ(RowSumSquares(n, At(x)), RowDot(n, At(x), At(x))) << n;
  }
}

TEST(Reduce, ProductsAreFused) {
  // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 loses its last bit when it is rounded before it is added; both elements fall into one lane.
  Values x(33, 0.0f), y(33, 0.0f);
  x[0] = -(1.0f + 0x1p-11f), y[0] = 1.0f;
  x[32] = y[32] = 1.0f + 0x1p-12f;
  EXPECT_EQ(RowDot(33, At(x), At(y)), 0x1p-24f);
  EXPECT_EQ(ColDot(33, At(x), At(y)), 0x1p-24f);
}

TEST(Reduce, SignedZeros) {
  const Values zeros(5, -0.0f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(RowSum(5, At(zeros))), 0u);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(ColSum(5, At(zeros))), 0u);
}

}  // namespace
}  // namespace assay::numerics
