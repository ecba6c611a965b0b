#include "assay/rounding/round_values.h"

#include <bit>
#include <cmath>
#include <limits>

namespace assay::rounding {
namespace {

constexpr std::uint64_t kSign = 0x8000000000000000;
constexpr std::uint64_t kExponent = 0x7ff0000000000000;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Scales {
  double spacing;  // of the grid at 1
  double shift;    // adding it to a value of the binade of 1 leaves multiples of the spacing
};

Scales ScalesOf(const numerics::Grid& grid) {
  const double spacing = grid.Spacing(1);
  return {spacing, spacing * 0x1.8p52};
}

// The power of two that begins the binade of y, kept in a range where neither the spacing nor the shift leaves that of double. Above it
// all values are infinite on the grid, below it the spacing stays the same.
inline double Binade(double y) {
  const double power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) & kExponent);
  const double bounded = power > 0x1p-126 ? power : 0x1p-126;
  return bounded < 0x1p200 ? bounded : 0x1p200;
}

// The nearest multiple of the spacing, as a double; the cast to float is exact or overflows. On the grid that is all of binary32 the cast alone would do, but is no
// faster, and where the rounded value is used further it keeps compilers from using vectors.
inline double Nearest(double y, double binade, const Scales& scales) {
  const double value = y == y ? y : kNan;  // of all NaNs the one without a sign
  const double shift = binade * scales.shift;
  const double r = (value + shift) - shift;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(r) | (std::bit_cast<std::uint64_t>(value) & kSign));
}

[[gnu::always_inline]] inline void RoundLoop(const Scales& scales, const double* y, std::int64_t n, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(Nearest(y[i], Binade(y[i]), scales));
}

[[gnu::always_inline]] inline bool TestLoop(const Scales& scales, const double* y, const double* e, std::int64_t n,
                                            float* out) {
  constexpr double kReach = 2 * (1 + 0x1p-10);
  const double half = scales.spacing / 2 * (1 - 0x1p-20);  // Decide rounds y - d and y + d to double, at most 2^-28 of this
  const double eighth = scales.spacing / 8;
  std::uint64_t near = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double binade = Binade(y[i]);
    const double r = Nearest(y[i], binade, scales);
    out[i] = static_cast<float>(r);
    const double d = e[i] * kReach;
    // Written so that what is not a number is near. A value that may have either sign is near even if it rounds to zero.
    const std::uint64_t inside = std::fabs(y[i] - r) + d < binade * half ? 1 : 0;
    const std::uint64_t small = d < binade * eighth ? 1 : 0;
    const std::uint64_t signless = std::fabs(y[i]) <= d ? 1 : 0;
    const std::uint64_t open = d > 0 ? 1 : 0;
    near |= (inside & small & ~(signless & open)) ^ 1;
  }
  return near != 0;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void RoundAvx2(const Scales& scales, const double* y, std::int64_t n, float* out) {
  RoundLoop(scales, y, n, out);
}
[[gnu::target("avx2")]] bool TestAvx2(const Scales& scales, const double* y, const double* e, std::int64_t n, float* out) {
  return TestLoop(scales, y, e, n, out);
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#endif

}  // namespace

void RoundValues(const numerics::Grid& grid, const double* y, std::int64_t n, float* out) {
#if defined(__x86_64__)
  if (HasAvx2()) return RoundAvx2(ScalesOf(grid), y, n, out);
#endif
  RoundLoop(ScalesOf(grid), y, n, out);
}

bool RoundValuesAndTest(const numerics::Grid& grid, const double* y, const double* e, std::int64_t n, float* out) {
#if defined(__x86_64__)
  if (HasAvx2()) return TestAvx2(ScalesOf(grid), y, e, n, out);
#endif
  return TestLoop(ScalesOf(grid), y, e, n, out);
}

}  // namespace assay::rounding
