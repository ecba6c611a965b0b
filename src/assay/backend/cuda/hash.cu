// SHA-256 with one message per thread: 64 rounds unrolled, so that the state and the schedule stay in registers and the constants
// in the instructions. The integer pipe is the limit, not memory: a leaf of 4 KiB is 65 blocks of about 1,400 instructions.
#include "assay/backend/cuda/hash.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "assay/backend/cuda/kernels.h"
#include "assay/base/check.h"
#include "assay/merkle/sha256_constants.h"
#include "assay/merkle/tree.h"

namespace assay::cuda {
namespace {

constexpr int kLeafThreads = 128;
constexpr int kPieceNodes = 512;  // of one level, joined by one block: a power of two, so that every piece is a whole subtree
constexpr int kPieceThreads = kPieceNodes / 2;

using Words = std::uint32_t[8];   // of a state or digest
using Block = std::uint32_t[16];  // of a message; then the last 16 words of its schedule

__device__ __forceinline__ std::uint32_t Rotate(std::uint32_t x, int n) { return __funnelshift_r(x, x, n); }

// Some sums are multiply-adds by `one`, whose value the compiler must not know: they run on the pipe of the floating-point units,
// which would stand idle beside the integer pipe.
__device__ __forceinline__ std::uint32_t Add(std::uint32_t a, std::uint32_t b, std::uint32_t one) { return a * one + b; }

// The round's names for the state's words move down by one from round to round, instead of the words.
template <int round>
__device__ __forceinline__ void Round(Words& state, Block& w, std::uint32_t one) {
  constexpr int i = 64 - round;
  std::uint32_t& d = state[(i + 3) % 8];
  std::uint32_t& h = state[(i + 7) % 8];
  const std::uint32_t a = state[i % 8], b = state[(i + 1) % 8], c = state[(i + 2) % 8];
  const std::uint32_t e = state[(i + 4) % 8], f = state[(i + 5) % 8], g = state[(i + 6) % 8];
  std::uint32_t& word = w[round % 16];
  if constexpr (round >= 16) {
    const std::uint32_t x = w[(round + 1) % 16], y = w[(round + 14) % 16];
    word = Add(Rotate(x, 7) ^ Rotate(x, 18) ^ (x >> 3), Add(word, w[(round + 9) % 16], one), one);
    word = Add(Rotate(y, 17) ^ Rotate(y, 19) ^ (y >> 10), word, one);
  }
  constexpr std::uint32_t constant = sha256::kRound[round];
  std::uint32_t sum = Add(Add(h, constant, one), word, one);
  sum = Add(Rotate(e, 6) ^ Rotate(e, 11) ^ Rotate(e, 25), Add((e & f) ^ (~e & g), sum, one), one);
  d = Add(d, sum, one);
  h = Add(Rotate(a, 2) ^ Rotate(a, 13) ^ Rotate(a, 22), Add((a & b) ^ (a & c) ^ (b & c), sum, one), one);
}

template <int... rounds>
__device__ __forceinline__ void Rounds(Words& state, Block& w, std::uint32_t one, std::integer_sequence<int, rounds...>) {
  (Round<rounds>(state, w, one), ...);
}

// Folds a block into the state; the block is spent.
__device__ __forceinline__ void Compress(Words& state, Block& block, std::uint32_t one) {
  Words before;
#pragma unroll
  for (int i = 0; i < 8; ++i) before[i] = state[i];
  Rounds(state, block, one, std::make_integer_sequence<int, 64>());
#pragma unroll
  for (int i = 0; i < 8; ++i) state[i] += before[i];
}

template <int... i>
__device__ __forceinline__ void Begin(Words& state, std::integer_sequence<int, i...>) {
  ((state[i] = std::integral_constant<std::uint32_t, sha256::kInitial[i]>::value), ...);
}
__device__ __forceinline__ void Begin(Words& state) { Begin(state, std::make_integer_sequence<int, 8>()); }

__device__ __forceinline__ std::uint32_t SwapBytes(std::uint32_t x) { return __byte_perm(x, 0, 0x0123); }

// The prefix byte moves the whole message by one: a word of the block is the last byte of one word in memory and three of the
// next.
__device__ __forceinline__ void ShiftIn(Block& block, std::uint32_t& last) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t word = block[i];
    block[i] = __byte_perm(last, word, 0x3456);
    last = word;
  }
}

// The last word of `bytes` bytes, which may be none of theirs, with the byte 0x80 behind them.
__device__ __forceinline__ std::uint32_t LastWord(const std::uint8_t* data, int bytes) {
  std::uint32_t word = 0x80u << 8 * (bytes % 4);
#pragma unroll
  for (int i = 0; i < 3; ++i) word |= i < bytes % 4 ? static_cast<std::uint32_t>(data[bytes / 4 * 4 + i]) << 8 * i : 0u;
  return word;
}

// Block n of `bytes` bytes that 0x80 and then zeros follow.
__device__ __forceinline__ void LoadLast(const std::uint8_t* data, int bytes, int n, Block& block) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(data);
  const std::uint32_t last = LastWord(data, bytes);
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int at = 16 * n + i;
    block[i] = at < bytes / 4 ? words[at] : at == bytes / 4 ? last : 0;
  }
}

__device__ __forceinline__ void LoadWhole(const std::uint8_t* data, int n, Block& block) {
  const auto* from = reinterpret_cast<const uint4*>(data + 64 * n);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint4 four = __ldg(from + i);
    block[4 * i] = four.x, block[4 * i + 1] = four.y, block[4 * i + 2] = four.z, block[4 * i + 3] = four.w;
  }
}

// SHA-256 of 0x00 and `bytes` bytes, at least one.
__device__ __forceinline__ void HashLeaf(const std::uint8_t* data, int bytes, Words& state, std::uint32_t one) {
  const int blocks = (bytes + 1 + 8) / 64 + 1;  // the prefix, 0x80 and the length are 10 more bytes
  std::uint32_t last = 0;
  Begin(state);
#pragma unroll 1
  for (int n = 0; n < blocks; ++n) {
    Block block;
    if (64 * (n + 1) <= bytes) {
      LoadWhole(data, n, block);
    } else {
      LoadLast(data, bytes, n, block);
    }
    ShiftIn(block, last);
    if (n == blocks - 1) block[15] = static_cast<std::uint32_t>(bytes + 1) * 8;
    Compress(state, block, one);
  }
}

__device__ __forceinline__ void Store(const Words& state, std::uint8_t* out) {
  auto* to = reinterpret_cast<uint4*>(out);
  to[0] = {SwapBytes(state[0]), SwapBytes(state[1]), SwapBytes(state[2]), SwapBytes(state[3])};
  to[1] = {SwapBytes(state[4]), SwapBytes(state[5]), SwapBytes(state[6]), SwapBytes(state[7])};
}

__device__ __forceinline__ void HashLeafOf(const DeviceBytes& tensor, std::uint64_t leaf, std::uint8_t* out,
                                           std::uint32_t one) {
  const std::uint64_t begin = leaf * kLeafBytes, left = tensor.bytes - begin;
  Words state;
  HashLeaf(static_cast<const std::uint8_t*>(tensor.data) + begin, static_cast<int>(left < kLeafBytes ? left : kLeafBytes),
           state, one);
  Store(state, out);
}

__global__ void __launch_bounds__(kLeafThreads)
    LeavesOfOne(DeviceBytes tensor, std::uint64_t leaves, std::uint8_t* out, std::uint32_t one) {
  const std::uint64_t leaf = std::uint64_t{blockIdx.x} * kLeafThreads + threadIdx.x;
  if (leaf < leaves) HashLeafOf(tensor, leaf, out + 32 * leaf, one);
}

// The last i with first[i] <= at, of `count` ascending ones that begin with 0.
__device__ __forceinline__ std::uint32_t Find(const std::uint64_t* first, std::uint32_t count, std::uint64_t at) {
  std::uint32_t low = 0, high = count;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (first[middle] <= at ? low : high) = middle;
  }
  return low;
}

__global__ void __launch_bounds__(kLeafThreads)
    LeavesOfAll(const DeviceBytes* tensors, const std::uint64_t* first, std::uint32_t count, std::uint64_t leaves,
                std::uint8_t* out, std::uint32_t one) {
  const std::uint64_t leaf = std::uint64_t{blockIdx.x} * kLeafThreads + threadIdx.x;
  if (leaf >= leaves) return;
  const std::uint32_t tensor = Find(first, count, leaf);
  HashLeafOf(tensors[tensor], leaf - first[tensor], out + 32 * leaf, one);
}

// SHA-256 of 0x01 and two digests, given as words of the schedule (most significant byte first).
__device__ __forceinline__ void HashNode(const Words& left, const Words& right, Words& state, std::uint32_t one) {
  Begin(state);
  Block block;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const std::uint32_t before = i == 0 ? 1 : i <= 8 ? left[i - 1] : right[i - 9];
    block[i] = __funnelshift_r(i < 8 ? left[i] : right[i - 8], before, 8);
  }
  const std::uint32_t end = right[7] << 24 | 0x00800000;
#pragma unroll 1
  for (int n = 0; n < 2; ++n) {
    Compress(state, block, one);
#pragma unroll
    for (int i = 0; i < 16; ++i) block[i] = i == 0 ? end : i == 15 ? 65 * 8 : 0;
  }
}

// One block joins up to kPieceNodes neighbours on one level into the root of their subtree: level by level, an odd last one
// moving up unchanged. A tensor without leaves has one piece with no nodes.
__global__ void __launch_bounds__(kPieceThreads)
    JoinPieces(const std::uint64_t* first, const std::uint64_t* first_above, std::uint32_t count, const std::uint8_t* in,
               std::uint8_t* out, std::uint32_t one) {
  __shared__ std::uint32_t nodes[8][kPieceNodes];
  const std::uint32_t tensor = Find(first_above, count, blockIdx.x);
  const std::uint64_t begin = first[tensor] + (blockIdx.x - first_above[tensor]) * kPieceNodes;
  const std::uint64_t end = first[tensor + 1];
  int left = static_cast<int>(end - begin < kPieceNodes ? end - begin : kPieceNodes);
  const auto* from = reinterpret_cast<const std::uint32_t*>(in + 32 * begin);
  for (int i = static_cast<int>(threadIdx.x); i < 8 * left; i += kPieceThreads) nodes[i % 8][i / 8] = SwapBytes(from[i]);
  __syncthreads();
  const int pair = static_cast<int>(threadIdx.x);
#pragma unroll 1
  for (; left > 1; left = (left + 1) / 2) {
    Words joined;
    const bool lone = 2 * pair + 1 == left;
    if (2 * pair < left) {
      Words a, b;
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = nodes[i][2 * pair], b[i] = nodes[i][lone ? 2 * pair : 2 * pair + 1];
      HashNode(a, b, joined, one);
#pragma unroll
      for (int i = 0; i < 8; ++i) joined[i] = lone ? a[i] : joined[i];
    }
    __syncthreads();
    if (2 * pair < left) {
#pragma unroll
      for (int i = 0; i < 8; ++i) nodes[i][pair] = joined[i];
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  Words root;
  if (left == 1) {
#pragma unroll
    for (int i = 0; i < 8; ++i) root[i] = nodes[i][0];
  } else {
    Block empty;
#pragma unroll
    for (int i = 0; i < 16; ++i) empty[i] = i == 0 ? 0x80000000 : 0;
    Begin(root);
    Compress(root, empty, one);
  }
  Store(root, out + 32 * std::uint64_t{blockIdx.x});
}

unsigned Blocks(std::uint64_t threads, int of_block) {
  const std::uint64_t blocks = (threads + static_cast<std::uint64_t>(of_block) - 1) / static_cast<std::uint64_t>(of_block);
  ASSAY_CHECK(blocks < std::uint64_t{1} << 31);
  return static_cast<unsigned>(blocks);
}

void CheckAligned(const DeviceBytes& tensor) { ASSAY_CHECK(reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0); }

}  // namespace

void EnqueueLeafHashes(const DeviceBytes& tensor, void* out, cudaStream_t stream) {
  CheckAligned(tensor);
  const std::uint64_t leaves = CountLeaves(tensor.bytes);
  if (leaves == 0) return;
  LeavesOfOne<<<Blocks(leaves, kLeafThreads), kLeafThreads, 0, stream>>>(tensor, leaves, static_cast<std::uint8_t*>(out), 1);
  CheckLaunch("LeavesOfOne");
}

RootsHasher::RootsHasher(std::span<const DeviceBytes> tensors) : tensors_(tensors.size()) {
  if (tensors.empty()) return;
  ASSAY_CHECK(tensors.size() < std::size_t{1} << 31);
  // The levels that are kept: the leaves, and the roots of pieces of the level below, until one for each tensor is left.
  std::vector<std::uint64_t> counts, first;
  for (const DeviceBytes& tensor : tensors) {
    CheckAligned(tensor);
    counts.push_back(CountLeaves(tensor.bytes));
  }
  for (bool more = true; more;) {
    more = nodes_.empty() || std::ranges::any_of(counts, [](std::uint64_t count) { return count > 1; });
    std::uint64_t total = 0;
    for (std::uint64_t& count : counts) {
      first.push_back(total);
      total += count;
      count = std::max<std::uint64_t>(1, (count + kPieceNodes - 1) / kPieceNodes);
    }
    first.push_back(total);
    nodes_.push_back(total);
  }
  std::uint64_t kept = 0;
  for (std::size_t level = 0; level + 1 < nodes_.size(); ++level) kept += nodes_[level];
  const std::size_t nodes_bytes = 32 * kept, tensors_bytes = tensors.size_bytes(),
                    first_bytes = first.size() * sizeof(first[0]);
  Check(cudaMalloc(&memory_, nodes_bytes + tensors_bytes + first_bytes), "memory for hashing");
  auto* table = static_cast<std::uint8_t*>(memory_) + nodes_bytes;
  Check(cudaMemcpy(table, tensors.data(), tensors_bytes, cudaMemcpyHostToDevice), "upload for hashing");
  Check(cudaMemcpy(table + tensors_bytes, first.data(), first_bytes, cudaMemcpyHostToDevice), "upload for hashing");
}

RootsHasher::~RootsHasher() { cudaFree(memory_); }

void RootsHasher::Enqueue(void* out, cudaStream_t stream) const {
  if (tensors_ == 0) return;
  const auto count = static_cast<std::uint32_t>(tensors_);
  std::uint64_t kept = 0;
  for (std::size_t level = 0; level + 1 < nodes_.size(); ++level) kept += nodes_[level];
  auto* nodes = static_cast<std::uint8_t*>(memory_);
  const auto* tensors = reinterpret_cast<const DeviceBytes*>(nodes + 32 * kept);
  const auto* first = reinterpret_cast<const std::uint64_t*>(tensors + tensors_);
  if (nodes_[0] > 0) {
    LeavesOfAll<<<Blocks(nodes_[0], kLeafThreads), kLeafThreads, 0, stream>>>(tensors, first, count, nodes_[0], nodes, 1);
    CheckLaunch("LeavesOfAll");
  }
  for (std::size_t level = 0; level + 1 < nodes_.size(); ++level) {
    const bool top = level + 2 == nodes_.size();
    std::uint8_t* above = top ? static_cast<std::uint8_t*>(out) : nodes + 32 * nodes_[level];
    JoinPieces<<<Blocks(nodes_[level + 1], 1), kPieceThreads, 0, stream>>>(first, first + tensors_ + 1, count, nodes, above, 1);
    CheckLaunch("JoinPieces");
    nodes = above;
    first += tensors_ + 1;
  }
}

}  // namespace assay::cuda
