// SHA-256 of eight streams in the lanes of AVX2 registers: word i of stream n is lane n of register i.
#include "assay/merkle/sha256_lanes.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include "assay/merkle/sha256_constants.h"

#define ASSAY_AVX2 __attribute__((target("avx2")))
#define ASSAY_AVX2_INLINE ASSAY_AVX2 __attribute__((always_inline)) inline

namespace assay::sha256 {
namespace {

ASSAY_AVX2_INLINE __m256i Xor(__m256i x, __m256i y, __m256i z) { return _mm256_xor_si256(_mm256_xor_si256(x, y), z); }

template <int kBits>
ASSAY_AVX2_INLINE __m256i Rotate(__m256i x) {
  return _mm256_or_si256(_mm256_srli_epi32(x, kBits), _mm256_slli_epi32(x, 32 - kBits));
}

// One round; `kw` is the round's constant plus its word. Instead of moving eight registers along, the names move: in round t the
// variable that FIPS 180-4 numbers i (a = 0 .. h = 7) is s[(i - t) mod 8].
ASSAY_AVX2_INLINE void Round(__m256i s[8], int t, __m256i kw) {
  const __m256i a = s[(0 - t) & 7], b = s[(1 - t) & 7], c = s[(2 - t) & 7];
  const __m256i e = s[(4 - t) & 7], f = s[(5 - t) & 7], g = s[(6 - t) & 7];
  __m256i& d = s[(3 - t) & 7];
  __m256i& h = s[(7 - t) & 7];
  const __m256i sum1 = Xor(Rotate<6>(e), Rotate<11>(e), Rotate<25>(e));
  const __m256i choice = _mm256_xor_si256(g, _mm256_and_si256(e, _mm256_xor_si256(f, g)));
  const __m256i t1 = _mm256_add_epi32(_mm256_add_epi32(h, kw), _mm256_add_epi32(sum1, choice));
  const __m256i sum0 = Xor(Rotate<2>(a), Rotate<13>(a), Rotate<22>(a));
  const __m256i majority = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, _mm256_or_si256(a, b)));
  d = _mm256_add_epi32(d, t1);
  h = _mm256_add_epi32(t1, _mm256_add_epi32(sum0, majority));
}

// Replaces word t of the message schedule (mod 16) by word t + 16.
ASSAY_AVX2_INLINE void NextWord(__m256i w[16], int t) {
  const __m256i w1 = w[(t + 1) & 15], w14 = w[(t + 14) & 15];
  const __m256i s0 = Xor(Rotate<7>(w1), Rotate<18>(w1), _mm256_srli_epi32(w1, 3));
  const __m256i s1 = Xor(Rotate<17>(w14), Rotate<19>(w14), _mm256_srli_epi32(w14, 10));
  w[t] = _mm256_add_epi32(_mm256_add_epi32(w[t], w[(t + 9) & 15]), _mm256_add_epi32(s0, s1));
}

// Sixteen rounds with the constants at `k`, preparing the words of the next sixteen unless these are the last.
template <bool kLast>
ASSAY_AVX2_INLINE void SixteenRounds(__m256i s[8], __m256i w[16], const std::uint32_t* k) {
#pragma GCC unroll 16
  for (int t = 0; t < 16; ++t) {
    Round(s, t, _mm256_add_epi32(w[t], _mm256_set1_epi32(static_cast<int>(k[t]))));
    if constexpr (!kLast) NextWord(w, t);
  }
}

// Eight words of each stream: a transposition of 8 x 8 words.
ASSAY_AVX2_INLINE void LoadWords(const std::uint8_t* const* data, std::size_t offset, __m256i w[8]) {
  const __m256i swap = _mm256_broadcastsi128_si256(_mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll));
  __m256i r[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    r[i] = _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(data[i] + offset)), swap);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {  // of four streams, word 4q + n goes to half q of register n
    const __m256i a = _mm256_unpacklo_epi32(r[i], r[i + 1]), b = _mm256_unpackhi_epi32(r[i], r[i + 1]);
    const __m256i c = _mm256_unpacklo_epi32(r[i + 2], r[i + 3]), d = _mm256_unpackhi_epi32(r[i + 2], r[i + 3]);
    r[i] = _mm256_unpacklo_epi64(a, c);
    r[i + 1] = _mm256_unpackhi_epi64(a, c);
    r[i + 2] = _mm256_unpacklo_epi64(b, d);
    r[i + 3] = _mm256_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 4
  for (int n = 0; n < 4; ++n) {  // a transposition of 2 x 2 halves
    w[n] = _mm256_permute2x128_si256(r[n], r[n + 4], 0x20);
    w[n + 4] = _mm256_permute2x128_si256(r[n], r[n + 4], 0x31);
  }
}

ASSAY_AVX2 void CompressAvx2(std::uint32_t* states, const std::uint8_t* const* data, std::size_t blocks) {
  __m256i state[8];
  for (int i = 0; i < 8; ++i) state[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(states + 8 * i));
  for (std::size_t block = 0; block < blocks; ++block) {
    __m256i s[8], w[16];
    LoadWords(data, 64 * block, w);
    LoadWords(data, 64 * block + 32, w + 8);
    for (int i = 0; i < 8; ++i) s[i] = state[i];
    for (int t = 0; t < 48; t += 16) SixteenRounds<false>(s, w, kRound + t);
    SixteenRounds<true>(s, w, kRound + 48);
    for (int i = 0; i < 8; ++i) state[i] = _mm256_add_epi32(state[i], s[i]);
  }
  for (int i = 0; i < 8; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(states + 8 * i), state[i]);
}

}  // namespace

CompressLanesFn CompressLanesAvx2() { return __builtin_cpu_supports("avx2") ? CompressAvx2 : nullptr; }

}  // namespace assay::sha256

#else

namespace assay::sha256 {

CompressLanesFn CompressLanesAvx2() { return nullptr; }

}  // namespace assay::sha256

#endif
