// SHA-256 with the SHA extensions of x86-64, for one stream and for three interleaved. A stream's state is kept in two registers in
// the order that sha256rnds2 wants: {A, B, E, F} and {C, D, G, H}, highest lane first.
//
// One stream waits most of the time: each of its 32 sha256rnds2 per block needs the result of the one before, four cycles later,
// while the processor could start one every cycle. Three streams fill that time; with more, words move between registers and memory
// too often (two, three, four, five streams in the cache of a Zen 4: 3.5, 4.1, 4.0, 3.8 GB/s). The SHA instructions reach sixteen
// registers only, but where there is AVX-512, its sixteen others save the way to memory: 4.5 GB/s.
#include "assay/merkle/sha256.h"
#include "assay/merkle/sha256_lanes.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include "assay/merkle/sha256_constants.h"

#define ASSAY_SHANI __attribute__((target("sha,sse4.1,ssse3")))
#define ASSAY_SHANI_INLINE ASSAY_SHANI __attribute__((always_inline)) inline

namespace assay::sha256 {
namespace {

constexpr int kStreams = 3;

struct State {
  __m128i abef, cdgh;
};

ASSAY_SHANI_INLINE State Pack(const std::uint32_t state[8]) {
  const __m128i abcd = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state)), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(state + 4)), 0x1b);
  return {_mm_alignr_epi8(abcd, efgh, 8), _mm_blend_epi16(efgh, abcd, 0xf0)};
}

ASSAY_SHANI_INLINE void Unpack(const State& packed, std::uint32_t state[8]) {
  const __m128i feba = _mm_shuffle_epi32(packed.abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(packed.cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

ASSAY_SHANI_INLINE __m128i LoadWords(const std::uint8_t* p) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), swap);
}

// Words t+16 .. t+19 of the message schedule from words t .. t+15 (w0 the oldest four).
ASSAY_SHANI_INLINE __m128i NextWords(__m128i w0, __m128i w1, __m128i w2, __m128i w3) {
  const __m128i partial = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
  return _mm_sha256msg2_epu32(partial, w3);
}

// Rounds 4 * group .. 4 * group + 3.
ASSAY_SHANI_INLINE void FourRounds(State& s, __m128i words, int group) {
  const __m128i input = _mm_add_epi32(words, _mm_load_si128(reinterpret_cast<const __m128i*>(kRound + 4 * group)));
  s.cdgh = _mm_sha256rnds2_epu32(s.cdgh, s.abef, input);
  s.abef = _mm_sha256rnds2_epu32(s.abef, s.cdgh, _mm_shuffle_epi32(input, 0x0e));
}

// One block of each of n streams. Four words are replaced as soon as they are used: that keeps the fewest alive.
template <int n>
ASSAY_SHANI_INLINE void CompressBlock(State states[n], const std::uint8_t* const data[n], std::size_t offset) {
  State s[n];
  __m128i w[n][4];
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) {
    s[i] = states[i];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) w[i][j] = LoadWords(data[i] + offset + 16 * static_cast<std::size_t>(j));
  }
#pragma GCC unroll 16
  for (int group = 0; group < 16; ++group) {
    const int a = group % 4, b = (group + 1) % 4, c = (group + 2) % 4, d = (group + 3) % 4;
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) {
      FourRounds(s[i], w[i][a], group);
      if (group < 12) w[i][a] = NextWords(w[i][a], w[i][b], w[i][c], w[i][d]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < n; ++i) {
    states[i] = {_mm_add_epi32(states[i].abef, s[i].abef), _mm_add_epi32(states[i].cdgh, s[i].cdgh)};
  }
}

ASSAY_SHANI void CompressShaNi(std::uint32_t state[8], const std::uint8_t* data, std::size_t blocks) {
  State packed = Pack(state);
  for (std::size_t block = 0; block < blocks; ++block) CompressBlock<1>(&packed, &data, 64 * block);
  Unpack(packed, state);
}

ASSAY_SHANI_INLINE void CompressStreams(std::uint32_t* states, const std::uint8_t* const* data, std::size_t blocks) {
  State packed[kStreams];
  std::uint32_t words[8];
  for (int n = 0; n < kStreams; ++n) {
    for (int i = 0; i < 8; ++i) words[i] = states[kStreams * i + n];
    packed[n] = Pack(words);
  }
  for (std::size_t block = 0; block < blocks; ++block) CompressBlock<kStreams>(packed, data, 64 * block);
  for (int n = 0; n < kStreams; ++n) {
    Unpack(packed[n], words);
    for (int i = 0; i < 8; ++i) states[kStreams * i + n] = words[i];
  }
}

ASSAY_SHANI void CompressIn16Registers(std::uint32_t* states, const std::uint8_t* const* data, std::size_t blocks) {
  CompressStreams(states, data, blocks);
}

__attribute__((target("sha,avx512f,avx512vl"))) void CompressIn32Registers(std::uint32_t* states,
                                                                           const std::uint8_t* const* data,
                                                                           std::size_t blocks) {
  CompressStreams(states, data, blocks);
}

}  // namespace

CompressFn CompressHardware() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (1u << 19)) == 0 || (c & (1u << 9)) == 0) return nullptr;  // SSE4.1, SSSE3
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & (1u << 29)) == 0) return nullptr;                 // SHA
  return CompressShaNi;
}

CompressLanesFn CompressLanesShaNi() { return CompressHardware() != nullptr ? CompressIn16Registers : nullptr; }

CompressLanesFn CompressLanesShaNiAvx512() {
  return CompressHardware() != nullptr && __builtin_cpu_supports("avx512vl") ? CompressIn32Registers : nullptr;
}

}  // namespace assay::sha256

#else

namespace assay::sha256 {

CompressFn CompressHardware() { return nullptr; }
CompressLanesFn CompressLanesShaNi() { return nullptr; }
CompressLanesFn CompressLanesShaNiAvx512() { return nullptr; }

}  // namespace assay::sha256

#endif
