// contract(K): blocks of 256, a chain inside each, the first block's sum being the total to which the others are added.
#include "assay/semantics/ref/contract.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace assay::ref {
namespace {

TEST(Contraction, NothingIsPositiveZero) { EXPECT_EQ(std::bit_cast<std::uint32_t>(Contraction().Total()), 0u); }

TEST(Contraction, ABlockIsOneChain) {
  Contraction sum;
  sum.Add(1.0f, 1.0f);
  for (int k = 1; k < 256; ++k) sum.Add(0x1p-24f, 1.0f);  // each lost in 1 by rounding to even
  EXPECT_EQ(sum.Total(), 1.0f);
}

TEST(Contraction, TheNextBlockIsSummedByItself) {
  Contraction sum;
  sum.Add(1.0f, 1.0f);
  for (int k = 1; k < 256; ++k) sum.Add(0.0f, 1.0f);
  sum.Add(0x1p-24f, 1.0f);
  sum.Add(0x1p-24f, 1.0f);
  EXPECT_EQ(sum.Total(), 1.0f + 0x1p-23f);
}

TEST(Contraction, ABlockHas256Products) {
  Contraction sum;
  sum.Add(1.0f, 1.0f);
  for (int k = 1; k < 255; ++k) sum.Add(0.0f, 1.0f);
  sum.Add(0x1p-24f, 1.0f);  // the last of the first block: lost
  sum.Add(0x1p-24f, 1.0f);  // a block of its own: lost
  EXPECT_EQ(sum.Total(), 1.0f);
}

TEST(Contraction, ProductsAreNotRounded) {
  Contraction sum;
  sum.Add(-1.0f, 1.0f);
  sum.Add(1.0f + 0x1p-12f, 1.0f + 0x1p-12f);
  EXPECT_EQ(sum.Total(), 0x1p-11f + 0x1p-24f);
}

TEST(Contraction, AnUnderflownFirstBlockKeepsItsSign) {
  Contraction sum;
  sum.Add(-0x1p-100f, 0x1p-100f);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(sum.Total()), 0x80000000u);
}

}  // namespace
}  // namespace assay::ref
