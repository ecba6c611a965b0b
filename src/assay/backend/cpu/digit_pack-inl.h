// From floats to digits: lines and panels (digit_format-inl.h) of one block.
//
// A value is scaled by a power of two, which is exact unless the result is below the smallest normal float and rounds to 0 either way, and
// rounded by the conversion to an integer. The integer plus 808080 (a "word") has digit i plus 128 as its byte i.
#if defined(ASSAY_BACKEND_CPU_DIGIT_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_PACK_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_PACK_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_PACK_INL_H_
#endif

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "assay/backend/cpu/digit_format-inl.h"
#include "assay/backend/cpu/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::digit {

inline constexpr std::uint32_t kWordOfZero = 0x808080u;
inline constexpr std::int64_t kLineFloats = 16;  // of a cache line

// To nearest, ties to even; the values fit. (Highway's function also takes care of those that do not.)
HWY_INLINE VI Nearest(VF x) {
#if HWY_TARGET == HWY_AVX2
  return VI{_mm256_cvtps_epi32(x.raw)};
#elif HWY_TARGET == HWY_AVX3
  return VI{_mm512_cvtps_epi32(x.raw)};
#else
  return VI{vcvtnq_s32_f32(x.raw)};
#endif
}

HWY_INLINE VU Word(VF x, VF factor) {
  return hn::Add(hn::BitCast(U32(), Nearest(hn::Mul(x, factor))), hn::Set(U32(), kWordOfZero));
}

HWY_INLINE VI Magnitude(VF x) { return hn::And(hn::BitCast(I32(), x), hn::Set(I32(), 0x7fffffff)); }

// The dwords of each plane from the words of their values.
template <class Format, bool kLine>
inline constexpr int kPlanes = kLine ? Format::kLinePlanes : Format::kPanelPlanes;

template <class Format, bool kLine>
HWY_INLINE void SplitWords(const VU (&w)[Format::kPieces], VU (&out)[kPlanes<Format, kLine>]) {
  const U32 d;
  if constexpr (Format::kPieces == 4) {
    const VU even = hn::Set(d, 0x00ff00ffu), low = hn::Set(d, 0x0000ffffu);
    // Bytes 0 and 2 (or 1) of two words side by side, then of four.
    const auto pair = [&](VU a, VU b) HWY_ATTR { return hn::Or(hn::And(a, even), hn::ShiftLeft<8>(hn::And(b, even))); };
    const auto odd = [&](VU a, VU b) HWY_ATTR { return hn::Or(hn::And(hn::ShiftRight<8>(a), even), hn::AndNot(even, b)); };
    const VU even_01 = pair(w[0], w[1]), even_23 = pair(w[2], w[3]), odd_01 = odd(w[0], w[1]), odd_23 = odd(w[2], w[3]);
    VU bytes[3];
    bytes[0] = hn::Or(hn::And(even_01, low), hn::ShiftLeft<16>(even_23));
    bytes[1] = hn::Or(hn::And(odd_01, low), hn::ShiftLeft<16>(odd_23));
    bytes[2] = hn::Or(hn::ShiftRight<16>(even_01), hn::AndNot(low, even_23));
    const VU sign = hn::Set(d, !kLine && Format::kOffset ? 0u : 0x80808080u);
    for (int p = 0; p < Format::kDigits; ++p) out[p] = hn::Xor(bytes[Format::kDigits - 1 - p], sign);
  } else {
    const hn::Repartition<std::uint16_t, U32> d16;
    const VU low = hn::Set(d, 0x0000ffffu), byte = hn::Set(d, 0x000000ffu);
    const auto join = [&](VU a, VU b, std::uint16_t bias) HWY_ATTR {
      const VU both = hn::Or(a, hn::ShiftLeft<16>(b));
      return hn::BitCast(d, hn::Sub(hn::BitCast(d16, both), hn::Set(d16, bias)));
    };
    const auto digit = [&](auto place) HWY_ATTR {
      constexpr int kShift = 8 * decltype(place)::value;
      return join(hn::And(hn::ShiftRight<kShift>(w[0]), byte), hn::And(hn::ShiftRight<kShift>(w[1]), byte), 0x80);
    };
    const auto two_digits = [&](auto place) HWY_ATTR {
      constexpr int kShift = 8 * decltype(place)::value;
      return join(hn::And(hn::ShiftRight<kShift>(w[0]), low), hn::ShiftRight<kShift>(w[1]), 0x8080);
    };
    using std::integral_constant;
    const integral_constant<int, 0> d0;
    const integral_constant<int, 1> d1;
    const integral_constant<int, 2> d2;
    if constexpr (Format::kDigits == 3 && kLine) {
      out[0] = two_digits(d1);
      out[1] = digit(d2);
      out[2] = digit(d1);
      out[3] = digit(d0);
    } else if constexpr (Format::kDigits == 3) {
      out[0] = digit(d2);
      out[1] = digit(d1);
      out[2] = digit(d0);
    } else {
      out[0] = kLine ? two_digits(d0) : digit(d1);
      out[1] = kLine ? digit(d1) : digit(d0);
    }
  }
}

// The dwords of `depth` values that lie behind each other: planes of kDwords for each chunk. Returns the scale.
template <class Format, bool kLine>
HWY_INLINE float SplitContiguous(const float* x, std::int64_t depth, std::uint32_t* to) {
  constexpr int kPieces = Format::kPieces;
  const F32 d;
  const std::int64_t whole = depth / Format::kChunk, rest = depth - whole * Format::kChunk;
  HWY_ALIGN float tail[Format::kChunk];
  if (rest != 0) {
    const std::int64_t dwords = DivideUp(rest, kPieces);
    std::memset(tail, 0, sizeof tail);
    for (std::int64_t i = 0; i < rest; ++i) tail[i / dwords * kDwords + i % dwords] = x[whole * Format::kChunk + i];
  }
  VI most = hn::Zero(I32());
  VI most_odd = most;
  for (std::int64_t i = 0; i < whole * kPieces; i += 2) {
    most = hn::Max(most, Magnitude(hn::LoadU(d, x + i * kDwords)));
    most_odd = hn::Max(most_odd, Magnitude(hn::LoadU(d, x + (i + 1) * kDwords)));
  }
  if (rest != 0) {
    for (int j = 0; j < kPieces; ++j) most = hn::Max(most, Magnitude(hn::Load(d, tail + j * kDwords)));
  }
  const std::int32_t largest = hn::GetLane(hn::MaxOfLanes(I32(), hn::Max(most, most_odd)));
  const std::uint32_t exponent = numerics::DigitExponent(static_cast<std::uint32_t>(largest));
  const VF factor = hn::Set(d, numerics::DigitFactor(exponent, Format::kDigits));
  const std::int64_t chunks = whole + (rest != 0 ? 1 : 0);
  for (std::int64_t c = 0; c < chunks; ++c) {
    const float* from = c < whole ? x + c * Format::kChunk : tail;
    VU words[kPieces];
    for (int j = 0; j < kPieces; ++j) {
      words[j] = exponent == 0 ? hn::Set(U32(), kWordOfZero) : Word(hn::LoadU(d, from + j * kDwords), factor);
    }
    VU planes[kPlanes<Format, kLine>];
    SplitWords<Format, kLine>(words, planes);
    for (int p = 0; p < kPlanes<Format, kLine>; ++p) hn::StoreU(planes[p], U32(), to + p * kDwords);
    to += kPlanes<Format, kLine> * kDwords;
  }
  return numerics::DigitScale(exponent, Format::kDigits);
}

// `count` adjacent floats at x, 0 beyond them.
HWY_INLINE VF LoadSome(const float* x, std::int64_t count) {
  if (HWY_LIKELY(count >= kDwords)) return hn::LoadU(F32(), x);
  HWY_ALIGN float some[kDwords] = {};
  if (count > 0) std::memcpy(some, x, static_cast<std::size_t>(count) * sizeof(float));
  return hn::Load(F32(), some);
}

// The scales of adjacent lines: what their values are multiplied by, and what joined sums are.
template <int kWide>
struct Scaling {
  static constexpr std::int64_t kWidth = kWide * kDwords;
  HWY_ALIGN float factors[kWidth];
  bool finite = true;

  // Of `count` lines of `depth` values. Writes the scales of all kWidth, those beyond `count` as of zeros.
  HWY_INLINE void Find(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, int digits,
                       float* scales) {
    const I32 d;
    VI most[kWide];
    HWY_UNROLL(2)
    for (int v = 0; v < kWide; ++v) most[v] = hn::Zero(d);
    for (std::int64_t k = 0; k < depth; ++k) {
      const float* row = from + k * stride;
      for (std::int64_t i = 0; i < kWidth; i += kLineFloats) __builtin_prefetch(row + kRowsAhead * stride + i);
      HWY_UNROLL(2)
      for (int v = 0; v < kWide; ++v) {
        most[v] = hn::Max(most[v], Magnitude(LoadSome(row + v * kDwords, count - v * kDwords)));
      }
    }
    HWY_ALIGN std::int32_t largest[kWidth];
    HWY_UNROLL(2)
    for (int v = 0; v < kWide; ++v) hn::Store(most[v], d, largest + v * kDwords);
    for (std::int64_t i = 0; i < kWidth; ++i) {
      const std::uint32_t exponent = numerics::DigitExponent(static_cast<std::uint32_t>(largest[i]));
      factors[i] = numerics::DigitFactor(exponent, digits);
      scales[i] = numerics::DigitScale(exponent, digits);
      finite = finite && exponent != 0;
    }
  }

  // The words of vector v of the lines. (A factor of 0 stands for a line that is not finite.)
  HWY_INLINE VU Words(VF x, int v) const {
    const VF factor = hn::Load(F32(), factors + v * kDwords);
    const VU word = Word(x, factor);
    if (HWY_LIKELY(finite)) return word;
    const auto not_finite = hn::RebindMask(U32(), hn::Eq(factor, hn::Zero(F32())));
    return hn::IfThenElse(not_finite, hn::Set(U32(), kWordOfZero), word);
  }
};

// Floats of `count` adjacent lines as words, from value 0 of a block on.
template <int kWide>
class FloatWords {
 public:
  HWY_INLINE FloatWords(const float* from, std::int64_t stride, std::int64_t count, const Scaling<kWide>& scaling)
      : from_(from), stride_(stride), count_(count), scaling_(scaling) {}

  HWY_INLINE VU At(std::int64_t k, int v) const {
    return scaling_.Words(LoadSome(from_ + k * stride_ + v * kDwords, count_ - v * kDwords), v);
  }

 private:
  const float* from_;
  std::int64_t stride_, count_;
  const Scaling<kWide>& scaling_;
};

// The dwords of adjacent lines: for each chunk and plane kDwords rows of kWide vectors.
template <class Format, bool kLine, int kWide, class Words>
HWY_INLINE void SplitAdjacent(const Words& words, std::int64_t depth, std::uint32_t* to) {
  constexpr int kPieces = Format::kPieces;
  constexpr std::int64_t kWidth = kWide * kDwords;
  for (std::int64_t k0 = 0; k0 < depth; k0 += Format::kChunk) {
    const std::int64_t dwords = std::min(kDwords, DivideUp(depth - k0, kPieces));
    const bool ragged = k0 + dwords * kPieces > depth;
    for (std::int64_t l = 0; l < dwords; ++l) {
      for (int v = 0; v < kWide; ++v) {
        VU w[kPieces];
        for (int j = 0; j < kPieces; ++j) {
          const std::int64_t k = k0 + j * dwords + l;
          w[j] = ragged && k >= depth ? hn::Set(U32(), kWordOfZero) : words.At(k, v);
        }
        VU planes[kPlanes<Format, kLine>];
        SplitWords<Format, kLine>(w, planes);
        for (int p = 0; p < kPlanes<Format, kLine>; ++p) {
          hn::StoreU(planes[p], U32(), to + (p * kDwords + l) * kWidth + v * kDwords);
        }
      }
    }
    if (dwords < kDwords) {  // a unit may read whole chunks
      for (int p = 0; p < kPlanes<Format, kLine>; ++p) {
        std::memset(to + (p * kDwords + dwords) * kWidth, 0, static_cast<std::size_t>((kDwords - dwords) * kWidth) * 4);
      }
    }
    to += kPlanes<Format, kLine> * kDwords * kWidth;
  }
}

// Completes a line whose planes are there.
template <class Format>
HWY_INLINE void FinishLine(std::int64_t depth, float scale, std::uint8_t* line) {
  LineHeader header{.scale = scale, .start = {0, 0, 0}, .absent = 0};
  if constexpr (Format::kOffset) {
    const hn::Repartition<std::uint8_t, U32> bytes;
    const hn::Repartition<std::uint64_t, U32> d64;
    const std::int64_t chunks = Format::Chunks(depth);
    std::int32_t start = 0;
    for (int p = 0; p < Format::kLinePlanes; ++p) {
      auto sum = hn::Zero(d64);
      for (std::int64_t c = 0; c < chunks; ++c) {
        const std::uint8_t* plane = line + sizeof(LineHeader) + (c * Format::kLinePlanes + p) * Format::kLinePlane;
        sum = hn::Add(sum, hn::SumsOf8(hn::Xor(hn::LoadU(bytes, plane), hn::Set(bytes, 0x80))));
      }
      const auto total = static_cast<std::int32_t>(hn::GetLane(hn::SumOfLanes(d64, sum)));
      start -= 128 * (total - 128 * static_cast<std::int32_t>(chunks * Format::kLinePlane));
      header.start[p] = start;
    }
  }
  std::memcpy(line, &header, sizeof header);
}

template <class Format>
HWY_INLINE void PackContiguousLine(const float* x, std::int64_t depth, std::uint8_t* line) {
  const float scale = SplitContiguous<Format, true>(x, depth, reinterpret_cast<std::uint32_t*>(line + sizeof(LineHeader)));
  FinishLine<Format>(depth, scale, line);
}

// Transposes kWidth rows of kDwords dwords: dword l of row i goes to to[l * kWidth + i]. Dwords are moved as floats, bit for bit.
template <std::int64_t kWidth>
HWY_INLINE void TransposeDwords(const std::uint32_t* from, std::int64_t stride, std::uint32_t* to) {
  std::array<const float*, static_cast<std::size_t>(kWidth)> rows;
  for (std::int64_t i = 0; i < kWidth; ++i)
    rows[static_cast<std::size_t>(i)] = reinterpret_cast<const float*>(from + i * stride);
  PackLines<kWidth>(rows, kDwords, reinterpret_cast<float*>(to));
}

// Memory that packing needs beside its result.
template <class Format>
struct PackSpace {
  HWY_ALIGN std::uint32_t dwords[Format::Chunks(kBlock) * Format::kLinePlanes * kDwords * kDigitColumns];
  HWY_ALIGN std::uint32_t square[kDwords * kDwords];
};

// kDwords lines (or the first `count` of them) whose words are given, line_bytes apart.
template <class Format, class Words>
HWY_INLINE void PackAdjacentLines(const Words& words, const float* scales, std::int64_t count, std::int64_t depth,
                                  PackSpace<Format>& space, std::uint8_t* to, std::int64_t line_bytes) {
  SplitAdjacent<Format, true, 1>(words, depth, space.dwords);
  for (std::int64_t plane = 0; plane < Format::Chunks(depth) * Format::kLinePlanes; ++plane) {
    TransposeDwords<kDwords>(space.dwords + plane * kDwords * kDwords, kDwords, space.square);
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * line_bytes + static_cast<std::int64_t>(sizeof(LineHeader)) + plane * Format::kLinePlane,
                  space.square + i * kDwords, static_cast<std::size_t>(Format::kLinePlane));
    }
  }
  for (std::int64_t i = 0; i < count; ++i) FinishLine<Format>(depth, scales[i], to + i * line_bytes);
}

template <class Format>
HWY_INLINE void PackAdjacentFloats(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth,
                                   PackSpace<Format>& space, std::uint8_t* to, std::int64_t line_bytes) {
  HWY_ALIGN float scales[kDwords];
  Scaling<1> scaling;
  scaling.Find(from, stride, count, depth, Format::kDigits, scales);
  PackAdjacentLines<Format>(FloatWords<1>(from, stride, count, scaling), scales, count, depth, space, to, line_bytes);
}

// A panel of columns that are adjacent for every k.
template <class Format>
HWY_INLINE void PackAdjacentPanel(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth,
                                  std::uint8_t* panel) {
  Scaling<kVectors> scaling;
  scaling.Find(from, stride, count, depth, Format::kDigits, reinterpret_cast<float*>(panel));
  SplitAdjacent<Format, false, kVectors>(FloatWords<kVectors>(from, stride, count, scaling), depth,
                                         reinterpret_cast<std::uint32_t*>(panel + Format::kPanelHeader));
}

// A panel of columns whose values lie behind each other.
template <class Format>
HWY_INLINE void PackContiguousPanel(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth,
                                    PackSpace<Format>& space, std::uint8_t* panel) {
  const std::int64_t planes = Format::Chunks(depth) * Format::kPanelPlanes, line = planes * kDwords;
  auto* scales = reinterpret_cast<float*>(panel);
  for (std::int64_t i = 0; i < kDigitColumns; ++i) {
    scales[i] = SplitContiguous<Format, false>(from + std::min(i, count - 1) * stride, depth, space.dwords + i * line);
  }
  auto* to = reinterpret_cast<std::uint32_t*>(panel + Format::kPanelHeader);
  for (std::int64_t p = 0; p < planes; ++p) {
    TransposeDwords<kDigitColumns>(space.dwords + p * kDwords, line, to + p * kDwords * kDigitColumns);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_AFTER_NAMESPACE();

#endif
