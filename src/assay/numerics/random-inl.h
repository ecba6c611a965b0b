// Philox for full vectors: the draws of random.h, many blocks at a time. Include it as simd-inl.h is included. Pure; thread safe.

#if defined(ASSAY_NUMERICS_RANDOM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_NUMERICS_RANDOM_INL_H_
#undef ASSAY_NUMERICS_RANDOM_INL_H_
#else
#define ASSAY_NUMERICS_RANDOM_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "assay/numerics/random.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::numerics::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DrawTag = hn::ScalableTag<std::uint32_t>;
using DrawVec = hn::Vec<DrawTag>;
// How many blocks, and how many draws, one call of DrawBlocks makes.
inline constexpr std::size_t kDrawBlocks = hn::MaxLanes(DrawTag());
inline constexpr std::size_t kDraws = 4 * kDrawBlocks;

// The high and the low words of a[i] * m.
HWY_INLINE void MulWide(DrawVec a, DrawVec m, DrawVec& high, DrawVec& low) {
  const DrawTag d;
  const hn::Repartition<std::uint64_t, DrawTag> wide;
  const auto even = hn::MulEven(a, m);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), m);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::Mul(a, m);
}

// Lane l of draw k becomes the draw of element 4 * block[l] + k.
HWY_INLINE void DrawLanes(const DrawKey& key, DrawVec block, DrawVec (&draw)[4]) {
  const DrawTag d;
  DrawVec c0 = block;
  DrawVec c1 = hn::Set(d, key.stream);
  DrawVec c2 = hn::Set(d, key.step);
  DrawVec c3 = hn::Set(d, key.microbatch);
  std::uint32_t k0 = static_cast<std::uint32_t>(key.seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(key.seed >> 32);
  const DrawVec m0 = hn::Set(d, kPhiloxM0);
  const DrawVec m1 = hn::Set(d, kPhiloxM1);
  for (int round = 0; round < 10; ++round) {
    DrawVec high0, low0, high1, low1;
    MulWide(c0, m0, high0, low0);
    MulWide(c2, m1, high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c3 = low0;
    k0 += kPhiloxW0;
    k1 += kPhiloxW1;
  }
  draw[0] = c0;
  draw[1] = c1;
  draw[2] = c2;
  draw[3] = c3;
}

// Draws of elements 4 * first ... 4 * first + kDraws - 1 to `out`, which is aligned to a vector.
HWY_INLINE void DrawBlocks(const DrawKey& key, std::uint32_t first, std::uint32_t* HWY_RESTRICT out) {
  const DrawTag d;
  DrawVec draw[4];
  DrawLanes(key, hn::Iota(d, first), draw);
  hn::StoreInterleaved4(draw[0], draw[1], draw[2], draw[3], d, out);
}

}  // namespace assay::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_NUMERICS_RANDOM_INL_H_
