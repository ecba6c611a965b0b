// Row reductions and loops over a row, in vectors (docs/NUMERICS.md, section 2: rowsum, rowsumsq, rowdot).
//
// A body is written once for whole vectors and for the part of a vector at a row's end: it gets `io`, a Full or a Part, and reads and
// writes memory through it alone, so nothing beyond the row is touched. The 32 virtual lanes of the contract are 2, 4 or 8 registers.
//
// Include it as numerics/simd-inl.h is included. Pure functions on the caller's memory; thread safe.

#if defined(ASSAY_BACKEND_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_ROWS_INL_H_
#undef ASSAY_BACKEND_CPU_ROWS_INL_H_
#else
#define ASSAY_BACKEND_CPU_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "assay/numerics/reduce.h"
#include "assay/numerics/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::rows {
namespace hn = hwy::HWY_NAMESPACE;
namespace nm = numerics::HWY_NAMESPACE;
using S = nm::Simd;
using F = S::F;
using I = S::I;

inline constexpr std::int64_t kVector = static_cast<std::int64_t>(S::kLanes);
inline constexpr std::int64_t kRegisters = numerics::kRowLanes / kVector;

struct Full {
  HWY_INLINE F Load(const float* p) const { return S::Load(p); }
  HWY_INLINE I Load(const std::int32_t* p) const { return hn::LoadU(S::DI(), p); }
  HWY_INLINE void Store(F v, float* p) const { S::Store(v, p); }
  HWY_INLINE void Store(I v, std::int32_t* p) const { hn::StoreU(v, S::DI(), p); }
  HWY_INLINE F Keep(F taken, F) const { return taken; }
};

// A Full whose floats go to memory without a place in the cache; stores are aligned to a vector.
struct PastCache : Full {
  HWY_INLINE void Store(F v, float* p) const { hn::Stream(v, S::D(), p); }
};

// The first `count` lanes; the others load as zero and are neither stored nor kept.
struct Part {
  std::size_t count;
#if HWY_ARCH_X86
  HWY_INLINE F Load(const float* p) const { return hn::MaskedLoad(hn::FirstN(S::D(), count), S::D(), p); }
  HWY_INLINE I Load(const std::int32_t* p) const { return hn::MaskedLoad(hn::FirstN(S::DI(), count), S::DI(), p); }
  HWY_INLINE void Store(F v, float* p) const { hn::BlendedStore(v, hn::FirstN(S::D(), count), S::D(), p); }
  HWY_INLINE void Store(I v, std::int32_t* p) const { hn::BlendedStore(v, hn::FirstN(S::DI(), count), S::DI(), p); }
#else
  HWY_INLINE F Load(const float* p) const { return S::LoadSome(p, count); }
  HWY_INLINE I Load(const std::int32_t* p) const {
    HWY_ALIGN std::int32_t lanes[S::kLanes] = {};
    for (std::size_t i = 0; i < count; ++i) lanes[i] = p[i];
    return hn::Load(S::DI(), lanes);
  }
  HWY_INLINE void Store(F v, float* p) const { S::StoreSome(v, p, count); }
  HWY_INLINE void Store(I v, std::int32_t* p) const {
    HWY_ALIGN std::int32_t lanes[S::kLanes];
    hn::Store(v, S::DI(), lanes);
    for (std::size_t i = 0; i < count; ++i) p[i] = lanes[i];
  }
#endif
  HWY_INLINE F Keep(F taken, F old) const { return hn::IfThenElse(hn::FirstN(S::D(), count), taken, old); }
};

// Calls body(i, io) for the vectors of [0, n).
template <class Body>
HWY_INLINE void ForEachVector(std::int64_t n, const Body& body) {
  std::int64_t i = 0;
  for (; i + kVector <= n; i += kVector) body(i, Full{});
  if (i < n) body(i, Part{static_cast<std::size_t>(n - i)});
}

// Adds lane l + h to lane l for h = half the lanes down to 1.
HWY_INLINE float SumLanes(F v) {
#if HWY_TARGET == HWY_AVX3
  const hn::CappedTag<float, 8> d8;
  const hn::CappedTag<float, 4> d4;
  const auto v8 = hn::Add(hn::LowerHalf(d8, v), hn::UpperHalf(d8, v));
  const auto v4 = hn::Add(hn::LowerHalf(d4, v8), hn::UpperHalf(d4, v8));
#elif HWY_TARGET == HWY_AVX2
  const hn::CappedTag<float, 4> d4;
  const auto v4 = hn::Add(hn::LowerHalf(d4, v), hn::UpperHalf(d4, v));
#else
  const auto v4 = v;
#endif
  const auto v2 = hn::Add(v4, hn::Shuffle1032(v4));
  return hn::GetLane(hn::Add(v2, hn::Shuffle2301(v2)));
}

// N reductions over at most kRowPiece terms; step(acc, i, io) takes the terms from i on into acc[0 .. N).
template <int N, class Step>
HWY_INLINE void ReducePiece(std::int64_t begin, std::int64_t n, const Step& step, float* sums) {
  F lane[kRegisters][N];
  for (auto& registers : lane) {
    for (F& acc : registers) acc = S::Set(0.0f);
  }
  std::int64_t i = 0;
  for (; i + numerics::kRowLanes <= n; i += numerics::kRowLanes) {
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < kRegisters; ++r) step(lane[r], begin + i + r * kVector, Full{});
  }
#pragma GCC unroll 8
  for (std::int64_t r = 0; r < kRegisters; ++r) {
    const std::int64_t at = i + r * kVector;
    if (at + kVector <= n) {
      step(lane[r], begin + at, Full{});
    } else if (at < n) {
      const Part part{static_cast<std::size_t>(n - at)};
      F taken[N];
      for (int k = 0; k < N; ++k) taken[k] = lane[r][k];
      step(taken, begin + at, part);
      for (int k = 0; k < N; ++k) lane[r][k] = part.Keep(taken[k], lane[r][k]);
    }
  }
  for (int k = 0; k < N; ++k) {
#pragma GCC unroll 8
    for (std::int64_t h = kRegisters / 2; h > 0; h /= 2) {
#pragma GCC unroll 8
      for (std::int64_t r = 0; r < h; ++r) lane[r][k] = hn::Add(lane[r][k], lane[r + h][k]);
    }
    sums[k] = SumLanes(lane[0][k]);
  }
}

// The recursion of the contract as a stream: sums of pieces go into 32 lanes, every 1024 of them make a sum of the next level. A level
// that holds a single sum passes it on unchanged, because sums of two or more pieces are never -0.
class PieceSums {
 public:
  void Add(float sum) {
    for (Level& level : levels_) {
      level.Take(sum);
      if (level.count < numerics::kRowPiece) return;
      sum = level.Close();
    }
  }
  float Total() {
    bool carried = false;
    float total = 0.0f;
    for (Level& level : levels_) {
      if (carried) level.Take(total);
      if (level.count == 0) continue;
      total = level.Close();
      carried = true;
    }
    return total;
  }

 private:
  struct Level {
    float lane[numerics::kRowLanes] = {};
    std::int64_t count = 0;

    void Take(float sum) {
      float& acc = lane[count % numerics::kRowLanes];
      acc = acc + sum;
      ++count;
    }
    float Close() {
      for (std::int64_t h = numerics::kRowLanes / 2; h > 0; h /= 2) {
        for (std::int64_t l = 0; l < h; ++l) lane[l] = lane[l] + lane[l + h];
      }
      const float sum = lane[0];
      *this = Level{};
      return sum;
    }
  };
  Level levels_[4];  // 1024^5 terms
};

// N reductions over a row of n terms.
template <int N, class Step>
HWY_INLINE void Reduce(std::int64_t n, const Step& step, float* sums) {
  if (n <= numerics::kRowPiece) {
    ReducePiece<N>(0, n, step, sums);
    return;
  }
  PieceSums totals[N];
  for (std::int64_t begin = 0; begin < n; begin += numerics::kRowPiece) {
    float piece[N];
    ReducePiece<N>(begin, std::min(numerics::kRowPiece, n - begin), step, piece);
    for (int k = 0; k < N; ++k) totals[k].Add(piece[k]);
  }
  for (int k = 0; k < N; ++k) sums[k] = totals[k].Total();
}

template <class Step>
HWY_INLINE float Reduce(std::int64_t n, const Step& step) {
  float sum;
  Reduce<1>(n, step, &sum);
  return sum;
}

HWY_INLINE float Sum(const float* x, std::int64_t n) {
  return Reduce(n, [x](F* acc, std::int64_t i, auto io) HWY_ATTR { acc[0] = S::Add(acc[0], io.Load(x + i)); });
}

// A maximum of the row in no particular order; a NaN may be lost.
HWY_INLINE float LooseMax(const float* x, std::int64_t n) {
  float best = x[0];
  std::int64_t i = 0;
  if (n >= 4 * kVector) {
    F m[4];
    for (int r = 0; r < 4; ++r) m[r] = S::Load(x + r * kVector);
    for (i = 4 * kVector; i + 4 * kVector <= n; i += 4 * kVector) {
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) m[r] = hn::Max(m[r], S::Load(x + i + r * kVector));
    }
    best = hn::GetLane(hn::MaxOfLanes(S::D(), hn::Max(hn::Max(m[0], m[1]), hn::Max(m[2], m[3]))));
  }
  for (; i < n; ++i) best = best < x[i] ? x[i] : best;
  return best;
}

// Rows handed to a thread at a time: enough work to hide the hand-over.
HWY_INLINE std::int64_t Grain(std::int64_t n) { return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(n, 1)); }

}  // namespace assay::cpu::HWY_NAMESPACE::rows
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_BACKEND_CPU_ROWS_INL_H_
