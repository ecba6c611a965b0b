// SHA-256 of sixteen streams in the lanes of AVX-512 registers: word i of stream n is lane n of register i.
#include "assay/merkle/sha256_lanes.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "assay/merkle/sha256_constants.h"

#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // a false alarm over the "undefined" registers in g++ 12's own header
#endif

#define ASSAY_AVX512 __attribute__((target("avx512f,avx512bw")))
#define ASSAY_AVX512_INLINE ASSAY_AVX512 __attribute__((always_inline)) inline

namespace assay::sha256 {
namespace {

ASSAY_AVX512_INLINE __m512i Xor(__m512i x, __m512i y, __m512i z) { return _mm512_ternarylogic_epi32(x, y, z, 0x96); }

// One round; `kw` is the round's constant plus its word. Instead of moving eight registers along, the names move: in round t the
// variable that FIPS 180-4 numbers i (a = 0 .. h = 7) is s[(i - t) mod 8].
ASSAY_AVX512_INLINE void Round(__m512i s[8], int t, __m512i kw) {
  const __m512i a = s[(0 - t) & 7], b = s[(1 - t) & 7], c = s[(2 - t) & 7];
  const __m512i e = s[(4 - t) & 7], f = s[(5 - t) & 7], g = s[(6 - t) & 7];
  __m512i& d = s[(3 - t) & 7];
  __m512i& h = s[(7 - t) & 7];
  const __m512i sum1 = Xor(_mm512_ror_epi32(e, 6), _mm512_ror_epi32(e, 11), _mm512_ror_epi32(e, 25));
  const __m512i choice = _mm512_ternarylogic_epi32(e, f, g, 0xca);
  const __m512i t1 = _mm512_add_epi32(_mm512_add_epi32(h, kw), _mm512_add_epi32(sum1, choice));
  const __m512i sum0 = Xor(_mm512_ror_epi32(a, 2), _mm512_ror_epi32(a, 13), _mm512_ror_epi32(a, 22));
  const __m512i majority = _mm512_ternarylogic_epi32(a, b, c, 0xe8);
  d = _mm512_add_epi32(d, t1);
  h = _mm512_add_epi32(t1, _mm512_add_epi32(sum0, majority));
}

// Replaces word t of the message schedule (mod 16) by word t + 16.
ASSAY_AVX512_INLINE void NextWord(__m512i w[16], int t) {
  const __m512i w1 = w[(t + 1) & 15], w14 = w[(t + 14) & 15];
  const __m512i s0 = Xor(_mm512_ror_epi32(w1, 7), _mm512_ror_epi32(w1, 18), _mm512_srli_epi32(w1, 3));
  const __m512i s1 = Xor(_mm512_ror_epi32(w14, 17), _mm512_ror_epi32(w14, 19), _mm512_srli_epi32(w14, 10));
  w[t] = _mm512_add_epi32(_mm512_add_epi32(w[t], w[(t + 9) & 15]), _mm512_add_epi32(s0, s1));
}

// Sixteen rounds with the constants at `k`, preparing the words of the next sixteen unless these are the last.
template <bool kLast>
ASSAY_AVX512_INLINE void SixteenRounds(__m512i s[8], __m512i w[16], const std::uint32_t* k) {
#pragma GCC unroll 16
  for (int t = 0; t < 16; ++t) {
    Round(s, t, _mm512_add_epi32(w[t], _mm512_set1_epi32(static_cast<int>(k[t]))));
    if constexpr (!kLast) NextWord(w, t);
  }
}

// The sixteen words of one block of each stream: a transposition of 16 x 16 words.
ASSAY_AVX512_INLINE void LoadWords(const std::uint8_t* const* data, std::size_t offset, __m512i w[16]) {
  const __m512i swap = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll));
  __m512i r[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(data[i] + offset), swap);
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {  // of four streams, word 4q + n goes to quarter q of register n
    const __m512i a = _mm512_unpacklo_epi32(r[i], r[i + 1]), b = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    const __m512i c = _mm512_unpacklo_epi32(r[i + 2], r[i + 3]), d = _mm512_unpackhi_epi32(r[i + 2], r[i + 3]);
    r[i] = _mm512_unpacklo_epi64(a, c);
    r[i + 1] = _mm512_unpackhi_epi64(a, c);
    r[i + 2] = _mm512_unpacklo_epi64(b, d);
    r[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 4
  for (int n = 0; n < 4; ++n) {  // a transposition of 4 x 4 quarters
    const __m512i a = _mm512_shuffle_i32x4(r[n], r[n + 4], 0x88), b = _mm512_shuffle_i32x4(r[n], r[n + 4], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(r[n + 8], r[n + 12], 0x88), d = _mm512_shuffle_i32x4(r[n + 8], r[n + 12], 0xdd);
    w[n] = _mm512_shuffle_i32x4(a, c, 0x88);
    w[n + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
    w[n + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
    w[n + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

ASSAY_AVX512 void CompressAvx512(std::uint32_t* states, const std::uint8_t* const* data, std::size_t blocks) {
  __m512i state[8];
  for (int i = 0; i < 8; ++i) state[i] = _mm512_loadu_si512(states + 16 * i);
  for (std::size_t block = 0; block < blocks; ++block) {
    __m512i s[8], w[16];
    LoadWords(data, 64 * block, w);
    for (int i = 0; i < 8; ++i) s[i] = state[i];
    for (int t = 0; t < 48; t += 16) SixteenRounds<false>(s, w, kRound + t);
    SixteenRounds<true>(s, w, kRound + 48);
    for (int i = 0; i < 8; ++i) state[i] = _mm512_add_epi32(state[i], s[i]);
  }
  for (int i = 0; i < 8; ++i) _mm512_storeu_si512(states + 16 * i, state[i]);
}

}  // namespace

CompressLanesFn CompressLanesAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") ? CompressAvx512 : nullptr;
}

}  // namespace assay::sha256

#else

namespace assay::sha256 {

CompressLanesFn CompressLanesAvx512() { return nullptr; }

}  // namespace assay::sha256

#endif
