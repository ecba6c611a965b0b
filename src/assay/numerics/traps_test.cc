// Traps that have broken other people's reproducibility, one test each. More stand in simd_test.cc and random_test.cc.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "assay/numerics/optimizers.h"
#include "support/truth.h"

namespace assay::numerics {
namespace {

constexpr std::array<float, 5> kBetas = {0.9f, 0.95f, 0.99f, 0.999f, 0.9999f};

// Adam's bias correction through a library's powf differs between libraries. Ours is the correctly rounded value of the true power for
// every step tried (double's error is far below half an ulp of binary32), and these bits are pinned.
TEST(Traps, PowfInBiasCorrection) {
  for (float beta : kBetas) {
    for (int step = 1; step <= 200000; step += step < 2000 ? 1 : 97) {
      const double truth = std::pow(static_cast<double>(beta), static_cast<double>(step));
      ASSERT_EQ(PowScalar(beta, static_cast<float>(step)), static_cast<float>(truth)) << beta << "^" << step;
    }
  }
  EXPECT_EQ(PowScalar(0.9f, 10.0f), 0x1.650bfp-2f);
  EXPECT_EQ(PowScalar(0.999f, 1000.0f), 0x1.788664p-2f);
}

// Rotary embeddings multiply positions by inverse frequencies: angles from 0 to the longest context must be exact enough everywhere,
// next to multiples of pi above all.
TEST(Traps, RopeRangeSinCos) {
  const Truth& sine = kTruths[4];
  const Truth& cosine = kTruths[5];
  for (float base : {10000.0f, 500000.0f}) {
    for (int j = 0; j < 64; j += 9) {
      const float inverse = 1.0f / PowScalar(base, static_cast<float>(2 * j) / 128.0f);
      for (std::int32_t position = 0; position < 200000; position += position < 4096 ? 1 : 61) {
        const float angle = Scalar::ToFloat(position) * inverse;
        ASSERT_LE(ErrorAt(sine, angle, Sin<Scalar>(angle)), 1.0) << angle;
        ASSERT_LE(ErrorAt(cosine, angle, Cos<Scalar>(angle)), 1.0) << angle;
      }
    }
  }
  for (std::int32_t n = 1; n < 200000; n += 7) {
    const float angle = static_cast<float>(static_cast<double>(n) * 1.5707963267948966);
    ASSERT_LE(ErrorAt(sine, angle, Sin<Scalar>(angle)), 1.0) << angle;
    ASSERT_LE(ErrorAt(cosine, angle, Cos<Scalar>(angle)), 1.0) << angle;
  }
}

}  // namespace
}  // namespace assay::numerics
