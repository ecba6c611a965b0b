#include "assay/backend/host.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

// Elements of a group that are computed before the next block begins: operands of several nodes stay in the first-level cache.
constexpr std::int64_t kBlock = 4096;
// Elements handed to a thread at a time: enough to pay for waking it.
constexpr std::int64_t kMinGrain = 4 * kBlock;
// One block of four-byte elements, and a cache line so that equal offsets in different slots do not collide.
constexpr std::size_t kSlotBytes = static_cast<std::size_t>(kBlock) * 4 + 64;

constexpr std::size_t kMaxInputs = 16;
constexpr std::size_t kMaxOutputs = 4;

// The block of an argument that starts at `element`.
char* BlockOf(const GroupArgument& argument, std::int64_t element, char* slots) {
  if (argument.slot != GroupArgument::kInMemory) return slots + argument.slot * kSlotBytes;
  return argument.base + (argument.aligned ? static_cast<std::size_t>(element) * argument.element_bytes : 0);
}

void RunBlock(HostBackend& backend, const GroupNode& node, std::int64_t begin, std::int64_t end, char* slots) {
  std::array<const void*, kMaxInputs> in;
  std::array<void*, kMaxOutputs> out;
  for (std::size_t k = 0; k < node.in.size(); ++k) in[k] = BlockOf(node.in[k], begin, slots);
  for (std::size_t k = 0; k < node.out.size(); ++k) out[k] = BlockOf(node.out[k], begin, slots);
  backend.RunElements({node.op, {in.data(), node.in.size()}, {out.data(), node.out.size()}}, begin, end);
}

}  // namespace

void HostBackend::RunGroup(const Group& group) {
  for (const GroupNode& node : group.nodes) ASSAY_CHECK(node.in.size() <= kMaxInputs && node.out.size() <= kMaxOutputs);
  const std::size_t slots = group.slots * kSlotBytes;
  if (const std::size_t needed = slots * static_cast<std::size_t>(pool_.threads()); scratch_.bytes() < needed) {
    scratch_ = Allocation(HostMemory(), needed);
  }
  const std::int64_t share = group.elements / (4 * pool_.threads()) / kBlock * kBlock;
  pool_.ParallelFor(group.elements, std::max(share, kMinGrain), [&](std::int64_t begin, std::int64_t end, int worker) {
    char* mine = static_cast<char*>(scratch_.data()) + static_cast<std::size_t>(worker) * slots;
    for (std::int64_t block = begin; block < end; block += kBlock) {
      const std::int64_t block_end = std::min(end, block + kBlock);
      for (const GroupNode& node : group.nodes) RunBlock(*this, node, block, block_end, mine);
      for (const GroupFlush& flush : group.flushes) {
        std::memcpy(flush.to + static_cast<std::size_t>(block) * flush.element_bytes, mine + flush.slot * kSlotBytes,
                    static_cast<std::size_t>(block_end - block) * flush.element_bytes);
      }
    }
  });
}

std::vector<Digest> HostBackend::TensorRoots(std::span<const ByteSpan> tensors) { return assay::TensorRoots(tensors, pool_); }

void HostBackend::QueueLeafHashes(ByteSpan tensor) {
  const std::size_t queued = leaves_.size();
  leaves_.resize(queued + CountLeaves(tensor.size()));
  const std::span leaves = std::span(leaves_).subspan(queued);
  pool_.ParallelFor(static_cast<std::int64_t>(leaves.size()), 16, [&](std::int64_t begin, std::int64_t end, int) {
    const std::size_t first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    const std::size_t at = first * kLeafBytes;
    HashLeaves(tensor.subspan(at, std::min(count * kLeafBytes, tensor.size() - at)), leaves.subspan(first, count));
  });
}

}  // namespace assay
