// What the attention kernels share: a tile of queries against blocks of 64 keys, with one query per vector lane.
//
// Every contraction is C[row][lane] = chain over steps of x[row, step] · Y[step][lane], with x read one element at a time and broadcast.
// Scores have keys as rows, queries as lanes and d as steps; the output has d as rows and keys as steps; gradients of keys and values have
// keys as rows, d as lanes and queries as steps. So keys and values are read where they lie, only queries are transposed, and a maximum or
// sum over keys never crosses lanes. A chain never leaves its order: what it has so far waits in memory between blocks of keys.
//
// Include it as numerics/simd-inl.h is included. Pure functions on the caller's memory; thread safe.

#if defined(ASSAY_BACKEND_CPU_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_ATTENTION_INL_H_
#undef ASSAY_BACKEND_CPU_ATTENTION_INL_H_
#else
#define ASSAY_BACKEND_CPU_ATTENTION_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "assay/numerics/random-inl.h"
#include "assay/numerics/simd-inl.h"
#include "assay/ops/attention_geometry.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::attention {
namespace hn = hwy::HWY_NAMESPACE;
namespace nm = numerics::HWY_NAMESPACE;
using nm::Simd;
using F = Simd::F;

constexpr std::int64_t kLanes = static_cast<std::int64_t>(Simd::kLanes);
constexpr std::int64_t kTile = 2 * kLanes;  // queries worked on together
constexpr std::int64_t kKeyBlock = 64;      // docs/NUMERICS.md
// Rows of one register tile: two vectors each, beside two of Y and one broadcast, in 16 registers with AVX2 and in 32 elsewhere.
constexpr int kRows = HWY_TARGET == HWY_AVX2 ? 6 : 8;

template <int R>
using Sums = F[R][2];

template <int R>
HWY_INLINE void SetZero(Sums<R>& sums) {
  for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = Simd::Set(0.0f);
}

template <int R>
HWY_INLINE void LoadSums(Sums<R>& sums, const float* from, std::int64_t stride) {
  for (int r = 0; r < R; ++r) {
    sums[r][0] = Simd::Load(from + r * stride);
    sums[r][1] = Simd::Load(from + r * stride + kLanes);
  }
}

template <int R>
HWY_INLINE void StoreSums(const Sums<R>& sums, float* to, std::int64_t stride) {
  for (int r = 0; r < R; ++r) {
    Simd::Store(sums[r][0], to + r * stride);
    Simd::Store(sums[r][1], to + r * stride + kLanes);
  }
}

// The broadcast operand: element (row, step) is at[row · row_stride + step · step_stride].
struct Scattered {
  const float* at;
  std::int64_t row_stride, step_stride;
  HWY_INLINE Scattered Row(std::int64_t row) const { return {at + row * row_stride, row_stride, step_stride}; }
};

// Continues R chains over `steps` steps.
template <int R>
HWY_INLINE void Chain(Sums<R>& sums, Scattered x, const float* HWY_RESTRICT y, std::int64_t y_stride, std::int64_t steps) {
  const float* HWY_RESTRICT at = x.at;
  for (std::int64_t t = 0; t < steps; ++t) {
    const F y0 = Simd::Load(y), y1 = Simd::Load(y + kLanes);
    for (int r = 0; r < R; ++r) {
      const F element = Simd::Set(at[r * x.row_stride]);
      sums[r][0] = Simd::Fma(element, y0, sums[r][0]);
      sums[r][1] = Simd::Fma(element, y1, sums[r][1]);
    }
    at += x.step_stride;
    y += y_stride;
  }
}

// Calls f(rows, first row) with rows a compile-time constant until `count` rows are covered.
template <class Function>
HWY_INLINE void InRegisterTiles(std::int64_t count, const Function& f) {
  std::int64_t row = 0;
  for (; row + kRows <= count; row += kRows) f(std::integral_constant<int, kRows>(), row);
  if (row + 4 <= count) {
    f(std::integral_constant<int, 4>(), row);
    row += 4;
  }
  if (row + 2 <= count) {
    f(std::integral_constant<int, 2>(), row);
    row += 2;
  }
  if (row < count) f(std::integral_constant<int, 1>(), row);
}

// Which of a tile's queries see which keys. Lane l sees keys [0, least + l), or all of them where nothing is hidden.
struct Visibility {
  std::int64_t least = 0;  // keys that every query of the tile sees
  std::int64_t most = 0;   // keys that its last query sees

  // Of the keys from `first` on: how many every lane sees, how many any lane sees.
  std::int64_t Common(std::int64_t first) const { return std::clamp<std::int64_t>(least - first, 0, kKeyBlock); }
  std::int64_t Any(std::int64_t first) const { return std::clamp<std::int64_t>(most - first, 0, kKeyBlock); }
  // The first lane that sees the key.
  std::int64_t FirstLane(std::int64_t key) const { return std::max<std::int64_t>(0, key - least + 1); }
  // Which lanes of the tile's vector 0 or 1 see the key.
  HWY_INLINE Simd::M Sees(std::int64_t key, int vector) const {
    const F lane = hn::Iota(Simd::D(), static_cast<float>(vector * kLanes));
    return Simd::Ge(lane, Simd::Set(static_cast<float>(FirstLane(key))));
  }
};

inline Visibility VisibilityOf(const ops::AttentionGeometry& g, std::int64_t first_query) {
  return {.least = g.Visible(first_query), .most = g.Visible(std::min(first_query + kTile, g.tq) - 1)};
}

// out[r][c] = in[c][r] for a 4 x 4 block.
HWY_INLINE void Transpose4x4(const float* in, std::int64_t in_stride, float* out, std::int64_t out_stride) {
  const hn::Full128<float> d;
  const hn::Full128<double> d2;
  const auto a = hn::LoadU(d, in);
  const auto b = hn::LoadU(d, in + in_stride);
  const auto c = hn::LoadU(d, in + 2 * in_stride);
  const auto e = hn::LoadU(d, in + 3 * in_stride);
  const auto ab_low = hn::BitCast(d2, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(d2, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(d2, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(d2, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab_low, ce_low)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab_low, ce_low)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab_high, ce_high)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab_high, ce_high)), d, out + 3 * out_stride);
}

// to[c][r] = from[r][c] for r < rows, c < columns.
inline void Transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns, float* to,
                      std::int64_t to_stride) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    std::int64_t c = 0;
    for (; c + 4 <= columns; c += 4) Transpose4x4(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    for (; c < columns; ++c) {
      for (std::int64_t k = r; k < r + 4; ++k) to[c * to_stride + k] = from[k * from_stride + c];
    }
  }
  for (; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
  }
}

// The lanes of a tile: to[c][lane] = from[lane][c] for `count` queries, +0 in the lanes beyond them.
inline void ToLanes(const float* from, std::int64_t from_stride, std::int64_t count, std::int64_t columns, float* to) {
  if (count < kTile) std::memset(to, 0, static_cast<std::size_t>(columns * kTile) * sizeof(float));
  Transpose(from, from_stride, count, columns, to, kTile);
}

// scores[key][lane] = (chain over d of q · k) · scale for keys [0, keys) from `k` on.
inline void Scores(const float* q_lanes, const float* k, std::int64_t key_stride, std::int64_t keys, std::int64_t d,
                   float scale, float* HWY_RESTRICT scores) {
  const F factor = Simd::Set(scale);
  InRegisterTiles(keys, [&](auto rows, std::int64_t row) HWY_ATTR {
    Sums<rows.value> sums;
    SetZero<rows.value>(sums);
    Chain<rows.value>(sums, {k + row * key_stride, key_stride, 1}, q_lanes, kTile, d);
    for (int r = 0; r < rows.value; ++r) {
      Simd::Store(Simd::Mul(sums[r][0], factor), scores + (row + r) * kTile);
      Simd::Store(Simd::Mul(sums[r][1], factor), scores + (row + r) * kTile + kLanes);
    }
  });
}

// Continues, for each d, the chain over keys of weights[key][lane] · rows[key][d], leaving out the keys that a lane does not see.
template <int R>
HWY_INLINE void ChainVisible(Sums<R>& sums, Scattered x, const float* weights, const Visibility& visibility,
                             std::int64_t first) {
  const std::int64_t common = visibility.Common(first), any = visibility.Any(first);
  Chain<R>(sums, x, weights, kTile, common);
  for (std::int64_t j = common; j < any; ++j) {
    const F y0 = Simd::Load(weights + j * kTile), y1 = Simd::Load(weights + j * kTile + kLanes);
    const Simd::M sees0 = visibility.Sees(first + j, 0), sees1 = visibility.Sees(first + j, 1);
    for (int r = 0; r < R; ++r) {
      const F element = Simd::Set(x.at[r * x.row_stride + j * x.step_stride]);
      sums[r][0] = Simd::Select(sees0, Simd::Fma(element, y0, sums[r][0]), sums[r][0]);
      sums[r][1] = Simd::Select(sees1, Simd::Fma(element, y1, sums[r][1]), sums[r][1]);
    }
  }
}

// The sum over a block's 64 positions of column `lane` of p[position][lane], in the order of rowsum: 32 lanes, halved.
template <int Width>
HWY_INLINE F BlockSum(const float* p) {
  if constexpr (Width == kKeyBlock) {
    return Simd::Load(p);
  } else {
    return Simd::Add(BlockSum<2 * Width>(p), BlockSum<2 * Width>(p + Width * kTile));
  }
}

// rowdot of two rows of at most 1024 elements.
inline float RowDot(const float* x, const float* y, std::int64_t n) {
  constexpr std::int64_t kSumLanes = 32;
  HWY_ALIGN float sums[kSumLanes];
  F vectors[kSumLanes / kLanes];
  for (F& vector : vectors) vector = Simd::Set(0.0f);
  std::int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (std::int64_t u = 0; u < kSumLanes / kLanes; ++u) {
      vectors[u] = Simd::Fma(Simd::Load(x + i + u * kLanes), Simd::Load(y + i + u * kLanes), vectors[u]);
    }
  }
  for (std::int64_t u = 0; u < kSumLanes / kLanes; ++u) Simd::Store(vectors[u], sums + u * kLanes);
  for (std::int64_t l = 0; i < n; ++i, ++l) sums[l] = std::fma(x[i], y[i], sums[l]);
  for (std::int64_t h = kSumLanes / 2; h >= 1; h /= 2) {
    for (std::int64_t l = 0; l < h; ++l) sums[l] = sums[l] + sums[l + h];
  }
  return sums[0];
}

// Dropout's factors of a block: keep[key][lane] for `count` queries and `keys` keys. `rows` is scratch for kTile x kKeyBlock floats.
class Dropout {
 public:
  Dropout(const ops::AttentionGeometry& g, const std::uint32_t* rng)
      : g_(g),
        key_(numerics::MakeDrawKey(rng, g.stream)),
        threshold_(numerics::DropoutThreshold(g.dropout)),
        factor_(numerics::DropoutFactor(g.dropout)) {}

  void Keep(std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t count, std::int64_t first, std::int64_t keys,
            float* rows, float* keep) const {
    const std::int64_t element = g_.Element(b, h, query, first);
    if (g_.tk % 4 == 0) return KeepLanes(element, keys, keep);
    for (std::int64_t i = 0; i < count; ++i) KeepRow(element + i * g_.tk, keys, rows + i * kKeyBlock);
    ToLanes(rows, kKeyBlock, count, keys, keep);
  }

 private:
  // Where every row begins with a whole block of four draws, a block holds four keys of one query: one lane.
  void KeepLanes(std::int64_t element, std::int64_t keys, float* keep) const {
    const nm::DrawTag d;
    const F factor = Simd::Set(factor_);
    const nm::DrawVec threshold = hn::Set(d, threshold_);
    for (int u = 0; u < 2; ++u) {
      const std::uint32_t block = static_cast<std::uint32_t>((element + u * kLanes * g_.tk) / 4);
      const nm::DrawVec row =
          hn::Add(hn::Set(d, block), hn::Mul(hn::Iota(d, 0), hn::Set(d, static_cast<std::uint32_t>(g_.tk / 4))));
      for (std::int64_t j = 0; j < keys; j += 4) {
        nm::DrawVec draw[4];
        nm::DrawLanes(key_, hn::Add(row, hn::Set(d, static_cast<std::uint32_t>(j / 4))), draw);
        for (int k = 0; k < 4; ++k) {
          const auto dropped = hn::RebindMask(Simd::D(), hn::Lt(draw[k], threshold));
          Simd::Store(hn::IfThenZeroElse(dropped, factor), keep + (j + k) * kTile + u * kLanes);
        }
      }
    }
  }

  void KeepRow(std::int64_t element, std::int64_t keys, float* row) const {
    HWY_ALIGN std::uint32_t draws[nm::kDraws];
    const std::int64_t last = element + keys;
    for (std::int64_t e = element / 4 * 4; e < last; e += static_cast<std::int64_t>(nm::kDraws)) {
      nm::DrawBlocks(key_, static_cast<std::uint32_t>(e / 4), draws);
      const std::int64_t from = std::max(e, element), to = std::min(e + static_cast<std::int64_t>(nm::kDraws), last);
      for (std::int64_t i = from; i < to; ++i) row[i - element] = draws[i - e] >= threshold_ ? factor_ : 0.0f;
    }
  }

  const ops::AttentionGeometry& g_;
  numerics::DrawKey key_;
  std::uint32_t threshold_;
  float factor_;
};

}  // namespace assay::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_BACKEND_CPU_ATTENTION_INL_H_
