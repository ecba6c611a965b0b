#include "assay/backend/cuda/hash.h"

#include <algorithm>

#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/memory.h"
#include "assay/backend/cuda/sha256-inl.h"
#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay::cuda {
namespace {

using sha256::Adder;
using sha256::Block;
using sha256::Leaf;
using sha256::Words;

constexpr int kDigestBytes = 32;
constexpr int kLeafThreads = 128;
constexpr std::uint64_t kFewLeaves = 16384;  // more fill the GPU with one thread for each
constexpr int kPieceNodes = 512;  // of one level, joined by one block: a power of two, so that every piece is a whole subtree
constexpr int kPieceThreads = kPieceNodes / 2;

__device__ __forceinline__ Leaf LeafOf(const DeviceBytes& tensor, std::uint64_t index) {
  const std::uint64_t begin = index * kLeafBytes, rest = tensor.bytes - begin;
  return {static_cast<const std::uint8_t*>(tensor.data) + begin, static_cast<int>(rest < kLeafBytes ? rest : kLeafBytes)};
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

// Where the leaves to be hashed are.
struct OneTensor {
  DeviceBytes tensor;
  std::uint64_t leaves;
  __device__ __forceinline__ Leaf operator[](std::uint64_t index) const { return LeafOf(tensor, index); }
};

struct ManyTensors {
  const DeviceBytes* tensors;
  const std::uint64_t* first;  // leaf of each tensor, among those of all
  std::uint32_t count;
  std::uint64_t leaves;
  __device__ __forceinline__ Leaf operator[](std::uint64_t index) const {
    const std::uint32_t tensor = Find(first, count, index);
    return LeafOf(tensors[tensor], index - first[tensor]);
  }
};

// Leaves with a place of kLeafBytes each.
struct StagedLeaves {
  const std::uint8_t* data;
  const int* bytes;
  std::uint64_t leaves;
  __device__ __forceinline__ Leaf operator[](std::uint64_t index) const { return {data + index * kLeafBytes, bytes[index]}; }
};

// One block copies one leaf, 16 bytes a thread.
constexpr int kStageThreads = kLeafBytes / 16;
__global__ void __launch_bounds__(kStageThreads) StageLeaves(OneTensor tensor, std::uint8_t* data, int* bytes) {
  const Leaf leaf = tensor[blockIdx.x];
  const int at = static_cast<int>(threadIdx.x) * 16;
  std::uint8_t* const to = data + std::uint64_t{blockIdx.x} * kLeafBytes;
  if (at + 16 <= leaf.bytes) {
    *reinterpret_cast<uint4*>(to + at) = *reinterpret_cast<const uint4*>(leaf.data + at);
  } else {
    for (int i = at; i < leaf.bytes; ++i) to[i] = leaf.data[i];
  }
  if (threadIdx.x == 0) bytes[blockIdx.x] = leaf.bytes;
}

// One leaf per thread: the most leaves per second.
template <class Leaves>
__global__ void __launch_bounds__(kLeafThreads) HashManyLeaves(Leaves leaves, std::uint8_t* out, Adder add) {
  const std::uint64_t index = std::uint64_t{blockIdx.x} * kLeafThreads + threadIdx.x;
  if (index >= leaves.leaves) return;
  const Leaf leaf = leaves[index];
  const int blocks = sha256::CountBlocks(leaf);
  std::uint32_t last = 0;
  Words state;
  sha256::Begin(state);
#pragma unroll 1
  for (int n = 0; n < blocks; ++n) {
    Block block;
    sha256::Load(leaf, n, last, block);
    sha256::Compress(state, block, add);
  }
  sha256::Store(state, out + kDigestBytes * index);
}

// When there are too few leaves to fill the GPU, the time is that of one leaf's chain of rounds. A block hashes 32 leaves: one
// warp does the rounds and nothing else, and three others prepare the schedules of the three blocks to come.
constexpr int kStages = 3;
constexpr int kFewThreads = 32 * (1 + kStages);
using Schedule = uint4[16][32];  // words of four rounds, with the constants added, of each leaf

template <int... rounds>
__device__ __forceinline__ void Prepare(Block& block, Schedule& schedule, Adder add, std::integer_sequence<int, rounds...>) {
  std::uint32_t four[4];
  const auto step = [&]<int round>(std::integral_constant<int, round>) {
    constexpr std::uint32_t constant = assay::sha256::kRound[round];
    four[round % 4] = sha256::Expand<round>(block, add) + constant;
    if constexpr (round % 4 == 3) schedule[round / 4][threadIdx.x % 32] = {four[0], four[1], four[2], four[3]};
  };
  (step(std::integral_constant<int, rounds>()), ...);
}

__device__ __forceinline__ void RoundsOf(const Schedule& schedule, Words& state, Adder add) {
  Words before;
  sha256::Copy(state, before);
#pragma unroll
  for (int at = 0; at < 16; at += 2) {
    const uint4 a = schedule[at][threadIdx.x % 32], b = schedule[at + 1][threadIdx.x % 32];
    sha256::Round<0>(state, a.x, add), sha256::Round<1>(state, a.y, add);
    sha256::Round<2>(state, a.z, add), sha256::Round<3>(state, a.w, add);
    sha256::Round<4>(state, b.x, add), sha256::Round<5>(state, b.y, add);
    sha256::Round<6>(state, b.z, add), sha256::Round<7>(state, b.w, add);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) state[i] += before[i];
}

template <class Leaves>
__global__ void __launch_bounds__(kFewThreads) HashFewLeaves(Leaves leaves, std::uint8_t* out, Adder add) {
  __shared__ Schedule schedules[2][kStages];  // one set is used while the other is filled
  const std::uint64_t index = std::uint64_t{blockIdx.x} * 32 + threadIdx.x % 32;
  const Leaf leaf = index < leaves.leaves ? leaves[index] : Leaf{};
  const int blocks = sha256::CountBlocks(leaf);
  const int most = __reduce_max_sync(0xffffffff, blocks);
  const int stage = static_cast<int>(threadIdx.x) / 32 - 1;
  Words state;
  sha256::Begin(state);
#pragma unroll 1
  for (int first = 0, set = 0; first < most + kStages; first += kStages, set ^= 1) {
    const int next = first + stage;
    if (stage >= 0 && next < most) {
      Block block{};
      if (next < blocks) {
        std::uint32_t last = next == 0 ? 0 : sha256::WordAt(leaf, 16 * next - 1, sha256::EndWord(leaf));
        sha256::Load(leaf, next, last, block);
      }
      Prepare(block, schedules[set][stage], add, std::make_integer_sequence<int, 64>());
    } else if (stage < 0 && first > 0) {
#pragma unroll 1
      for (int s = 0; s < kStages; ++s) {
        if (first - kStages + s < blocks) RoundsOf(schedules[set ^ 1][s], state, add);
      }
    }
    __syncthreads();
  }
  if (stage < 0 && blocks > 0) sha256::Store(state, out + kDigestBytes * index);
}

// One block joins up to kPieceNodes neighbours on one level into the root of their subtree: level by level, an odd last one
// moving up unchanged. A tensor without leaves has one piece with no nodes.
__global__ void __launch_bounds__(kPieceThreads)
    JoinPieces(const std::uint64_t* first, const std::uint64_t* first_above, std::uint32_t count, const std::uint8_t* in,
               std::uint8_t* out, Adder add) {
  __shared__ std::uint32_t nodes[8][kPieceNodes + 4];  // four more, so that the words of one digest are in different banks
  const std::uint32_t tensor = Find(first_above, count, blockIdx.x);
  const std::uint64_t begin = first[tensor] + (blockIdx.x - first_above[tensor]) * kPieceNodes;
  const std::uint64_t rest = first[tensor + 1] - begin;
  int left = static_cast<int>(rest < kPieceNodes ? rest : kPieceNodes);
  const auto* from = reinterpret_cast<const std::uint32_t*>(in + kDigestBytes * begin);
  const int pair = static_cast<int>(threadIdx.x);
  for (int i = pair; i < 8 * left; i += kPieceThreads) nodes[i % 8][i / 8] = sha256::SwapBytes(from[i]);
  __syncthreads();
#pragma unroll 1
  for (; left > 1; left = (left + 1) / 2) {
    Words joined;
    if (2 * pair < left) {
      const bool lone = 2 * pair + 1 == left;
      Words a, b;
#pragma unroll
      for (int i = 0; i < 8; ++i) a[i] = nodes[i][2 * pair], b[i] = nodes[i][2 * pair + !lone];
      sha256::HashNode(a, b, joined, add);
      if (lone) sha256::Copy(a, joined);
    }
    __syncthreads();
    if (2 * pair < left) {
#pragma unroll
      for (int i = 0; i < 8; ++i) nodes[i][pair] = joined[i];
    }
    __syncthreads();
  }
  if (pair != 0) return;
  Words root;
  if (left == 1) {
#pragma unroll
    for (int i = 0; i < 8; ++i) root[i] = nodes[i][0];
  } else {
    sha256::HashEmpty(root, add);
  }
  sha256::Store(root, out + kDigestBytes * std::uint64_t{blockIdx.x});
}

unsigned Blocks(std::uint64_t work, std::uint64_t of_block) {
  const std::uint64_t blocks = (work + of_block - 1) / of_block;
  ASSAY_CHECK(blocks < std::uint64_t{1} << 31);
  return static_cast<unsigned>(blocks);
}

template <class Leaves>
void EnqueueLeaves(const Leaves& leaves, std::uint8_t* out, cudaStream_t stream) {
  if (leaves.leaves == 0) return;
  if (leaves.leaves <= kFewLeaves) {
    HashFewLeaves<<<Blocks(leaves.leaves, 32), kFewThreads, 0, stream>>>(leaves, out, Adder{1});
  } else {
    HashManyLeaves<<<Blocks(leaves.leaves, kLeafThreads), kLeafThreads, 0, stream>>>(leaves, out, Adder{1});
  }
  CheckLaunch("hashing leaves");
}

void CheckAligned(const DeviceBytes& tensor) { ASSAY_CHECK(reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0); }

}  // namespace

void ReleaseMemory::operator()(void* memory) const { Release(memory); }

void EnqueueLeafHashes(const DeviceBytes& tensor, void* out, cudaStream_t stream) {
  CheckAligned(tensor);
  EnqueueLeaves(OneTensor{tensor, CountLeaves(tensor.bytes)}, static_cast<std::uint8_t*>(out), stream);
}

LeafStage::LeafStage(std::size_t leaves) : most_(leaves), memory_(Allocate(leaves * (kLeafBytes + sizeof(int)))) {}

void LeafStage::Add(const DeviceBytes& tensor, cudaStream_t stream) {
  CheckAligned(tensor);
  const std::size_t leaves = CountLeaves(tensor.bytes);
  ASSAY_CHECK(leaves <= room());
  if (leaves == 0) return;
  auto* const data = static_cast<std::uint8_t*>(memory_.get());
  int* const bytes = reinterpret_cast<int*>(data + most_ * kLeafBytes);
  StageLeaves<<<Blocks(leaves, 1), kStageThreads, 0, stream>>>(OneTensor{tensor, leaves}, data + leaves_ * kLeafBytes,
                                                               bytes + leaves_);
  CheckLaunch("copying leaves");
  leaves_ += leaves;
}

void LeafStage::EnqueueHashes(void* out, cudaStream_t stream) {
  const auto* const data = static_cast<const std::uint8_t*>(memory_.get());
  EnqueueLeaves(StagedLeaves{data, reinterpret_cast<const int*>(data + most_ * kLeafBytes), leaves_},
                static_cast<std::uint8_t*>(out), stream);
  leaves_ = 0;
}

RootsHasher::RootsHasher(std::span<const DeviceBytes> tensors) : tensors_(tensors.size()) {
  if (tensors.empty()) return;
  ASSAY_CHECK(tensors.size() < std::size_t{1} << 31);
  std::vector<std::uint64_t> counts, first;
  for (const DeviceBytes& tensor : tensors) {
    CheckAligned(tensor);
    counts.push_back(CountLeaves(tensor.bytes));
  }
  for (bool joined = false; !joined;) {
    joined = !nodes_.empty() && std::ranges::all_of(counts, [](std::uint64_t count) { return count == 1; });
    std::uint64_t total = 0;
    for (std::uint64_t& count : counts) {
      first.push_back(total);
      total += count;
      count = std::max<std::uint64_t>(1, (count + kPieceNodes - 1) / kPieceNodes);
    }
    first.push_back(total);
    nodes_.push_back(total);
    if (!joined) kept_nodes_ += total;
  }
  const std::size_t nodes_bytes = kDigestBytes * kept_nodes_, first_bytes = first.size() * sizeof(first[0]);
  void* const memory = Allocate(nodes_bytes + tensors.size_bytes() + first_bytes);
  memory_.reset(memory);
  auto* table = static_cast<std::uint8_t*>(memory) + nodes_bytes;
  Check(cudaMemcpy(table, tensors.data(), tensors.size_bytes(), cudaMemcpyHostToDevice), "copying to the GPU");
  Check(cudaMemcpy(table + tensors.size_bytes(), first.data(), first_bytes, cudaMemcpyHostToDevice), "copying to the GPU");
  Check(cudaStreamSynchronize(nullptr), "copying to the GPU");  // a copy from pageable memory may be on its way when it returns
}

void RootsHasher::Enqueue(void* out, cudaStream_t stream) const {
  if (tensors_ == 0) return;
  const auto count = static_cast<std::uint32_t>(tensors_);
  auto* nodes = static_cast<std::uint8_t*>(memory_.get());
  const auto* tensors = reinterpret_cast<const DeviceBytes*>(nodes + kDigestBytes * kept_nodes_);
  const auto* first = reinterpret_cast<const std::uint64_t*>(tensors + tensors_);
  EnqueueLeaves(ManyTensors{tensors, first, count, nodes_[0]}, nodes, stream);
  for (std::size_t level = 0; level + 1 < nodes_.size(); ++level) {
    const std::uint64_t* first_above = first + tensors_ + 1;
    std::uint8_t* above = level + 2 == nodes_.size() ? static_cast<std::uint8_t*>(out) : nodes + kDigestBytes * nodes_[level];
    JoinPieces<<<Blocks(nodes_[level + 1], 1), kPieceThreads, 0, stream>>>(first, first_above, count, nodes, above, Adder{1});
    CheckLaunch("joining hashes");
    nodes = above;
    first = first_above;
  }
}

}  // namespace assay::cuda
