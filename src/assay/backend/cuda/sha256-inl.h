// SHA-256 with one message per thread, for the leaves and nodes of merkle/tree.h.
//
// For .cu files alone. Rounds are unrolled by 16, so that state and schedule stay in registers; unrolling all 64 is no faster.
// Integer instructions are the limit, not memory: a leaf of 4 KiB is 65 blocks of about 1,500 instructions. Pure.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "assay/merkle/sha256_constants.h"

namespace assay::cuda::sha256 {

using Words = std::uint32_t[8];   // a state; a digest as numbers
using Block = std::uint32_t[16];  // of a message; then the last 16 words of its schedule

// Most sums are multiply-adds by `one`, which is 1, but the compiler must not know it: they run on the pipe of the floating-point
// units, which would stand idle beside the integer pipe. With all of them there it was slower (H200): see Round.
struct Adder {
  std::uint32_t one;
  __device__ __forceinline__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    std::uint32_t sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(one), "r"(b));
    return sum;
  }
};

__device__ __forceinline__ std::uint32_t Rotate(std::uint32_t x, int n) { return __funnelshift_r(x, x, n); }

// The round's word of the schedule. It takes the place of the one 16 rounds before; the first 16 are the block itself.
template <int round>
__device__ __forceinline__ std::uint32_t Expand(Block& w, Adder add) {
  std::uint32_t& word = w[round % 16];
  if constexpr (round >= 16) {
    const std::uint32_t x = w[(round + 1) % 16], y = w[(round + 14) % 16];
    word = add(Rotate(x, 7) ^ Rotate(x, 18) ^ (x >> 3), add(word, w[(round + 9) % 16]));
    word = add(Rotate(y, 17) ^ Rotate(y, 19) ^ (y >> 10), word);
  }
  return word;
}

// `word` is that of the schedule plus the round's constant, a sum that the integer pipe does in one with the addition of h. The
// names of the state's words move down by one from round to round, instead of the words; after 8 rounds they are back.
template <int round>
__device__ __forceinline__ void Round(Words& state, std::uint32_t word, Adder add) {
  constexpr int i = 64 - round;
  const std::uint32_t a = state[i % 8], b = state[(i + 1) % 8], c = state[(i + 2) % 8];
  const std::uint32_t e = state[(i + 4) % 8], f = state[(i + 5) % 8], g = state[(i + 6) % 8];
  std::uint32_t& d = state[(i + 3) % 8];
  std::uint32_t& h = state[(i + 7) % 8];
  const std::uint32_t sum = add(Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25), add((e & f) ^ (~e & g), h + word));
  d = add(d, sum);
  h = add(Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22), add((a & b) ^ (a & c) ^ (b & c), sum));
}

struct Constants {
  std::uint32_t of_round[64];
};
constexpr Constants RoundConstants() {
  Constants constants{};
  for (int i = 0; i < 64; ++i) constants.of_round[i] = assay::sha256::kRound[i];
  return constants;
}
static __constant__ Constants device_constants = RoundConstants();

template <int... rounds>
__device__ __forceinline__ void Rounds(Words& state, Block& w, int first, Adder add, std::integer_sequence<int, rounds...>) {
  (Round<rounds % 16>(state, Expand<rounds>(w, add) + device_constants.of_round[first + rounds % 16], add), ...);
}

__device__ __forceinline__ void Copy(const Words& from, Words& to) {
#pragma unroll
  for (int i = 0; i < 8; ++i) to[i] = from[i];
}

using Next16 = std::integer_sequence<int, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31>;

// Folds a block into the state; the block is spent.
__device__ __forceinline__ void Compress(Words& state, Block& block, Adder add) {
  Words before;
  Copy(state, before);
  Rounds(state, block, 0, add, std::make_integer_sequence<int, 16>());
#pragma unroll 1
  for (int first = 16; first < 64; first += 16) Rounds(state, block, first, add, Next16());
#pragma unroll
  for (int i = 0; i < 8; ++i) state[i] += before[i];
}

template <int... i>
__device__ __forceinline__ void Begin(Words& state, std::integer_sequence<int, i...>) {
  ((state[i] = std::integral_constant<std::uint32_t, assay::sha256::kInitial[i]>::value), ...);
}
__device__ __forceinline__ void Begin(Words& state) { Begin(state, std::make_integer_sequence<int, 8>()); }

// SHA-256 of nothing.
__device__ __forceinline__ void HashEmpty(Words& state, Adder add) {
  Block block{0x80000000};
  Begin(state);
  Compress(state, block, add);
}

// SHA-256 of 0x01 and two digests.
__device__ __forceinline__ void HashNode(const Words& left, const Words& right, Words& state, Adder add) {
  Block block;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t before = i == 0 ? 0x01 : i <= 8 ? left[i - 1] : right[i - 9];
    block[i] = __funnelshift_r(i < 8 ? left[i] : right[i - 8], before, 8);
  }
  const std::uint32_t end = right[7] << 24 | 0x00800000;
  Begin(state);
#pragma unroll 1
  for (int n = 0; n < 2; ++n) {
    Compress(state, block, add);
#pragma unroll
    for (int i = 0; i < 16; ++i) block[i] = i == 0 ? end : i == 15 ? 65 * 8 : 0;
  }
}

// Digests in memory have the most significant byte of a word first.
__device__ __forceinline__ std::uint32_t SwapBytes(std::uint32_t x) { return __byte_perm(x, 0, 0x0123); }

__device__ __forceinline__ void Store(const Words& state, void* out) {
  auto* to = static_cast<uint4*>(out);
  to[0] = {SwapBytes(state[0]), SwapBytes(state[1]), SwapBytes(state[2]), SwapBytes(state[3])};
  to[1] = {SwapBytes(state[4]), SwapBytes(state[5]), SwapBytes(state[6]), SwapBytes(state[7])};
}

// A message of 0x00 and the bytes of a leaf, of which there is at least one.
struct Leaf {
  const std::uint8_t* data = nullptr;  // at a multiple of 16 bytes
  int bytes = 0;
};

// The blocks of the message; the prefix, 0x80 and the length are 10 bytes more than the leaf.
__device__ __forceinline__ int CountBlocks(const Leaf& leaf) { return leaf.bytes == 0 ? 0 : (leaf.bytes + 9) / 64 + 1; }

// The word of the leaf that has its end, with 0x80 behind it.
__device__ __forceinline__ std::uint32_t EndWord(const Leaf& leaf) {
  const int rest = leaf.bytes % 4;
  std::uint32_t word = 0x80u << 8 * rest;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    if (i < rest) word |= static_cast<std::uint32_t>(leaf.data[leaf.bytes - rest + i]) << 8 * i;
  }
  return word;
}

// A word of the leaf as it is in memory, or of the 0x80 and the zeros behind it.
__device__ __forceinline__ std::uint32_t WordAt(const Leaf& leaf, int at, std::uint32_t end_word) {
  const int whole = leaf.bytes / 4;
  return at < whole ? reinterpret_cast<const std::uint32_t*>(leaf.data)[at] : at == whole ? end_word : 0;
}

// Block n of the message. `last` is the word of the leaf in front of the block, and becomes the block's own last: the prefix
// moves everything by one byte, so that a word of the message is one byte of a word in memory and three of the next.
__device__ __forceinline__ void Load(const Leaf& leaf, int n, std::uint32_t& last, Block& block) {
  if (64 * (n + 1) <= leaf.bytes) {
    const auto* from = reinterpret_cast<const uint4*>(leaf.data + 64 * n);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 four = __ldg(from + i);
      block[4 * i] = four.x, block[4 * i + 1] = four.y, block[4 * i + 2] = four.z, block[4 * i + 3] = four.w;
    }
  } else {
    const std::uint32_t end_word = EndWord(leaf);
#pragma unroll
    for (int i = 0; i < 16; ++i) block[i] = WordAt(leaf, 16 * n + i, end_word);
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t word = block[i];
    block[i] = __byte_perm(last, word, 0x3456);
    last = word;
  }
  if (n == CountBlocks(leaf) - 1) block[15] = static_cast<std::uint32_t>(leaf.bytes + 1) * 8;
}

}  // namespace assay::cuda::sha256
