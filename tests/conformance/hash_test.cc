// Hashes of what lies in a backend's memory: on every backend those of merkle/tree.h.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "assay/merkle/tree.h"
#include "conformance/backends.h"

namespace assay::testkit {
namespace {

constexpr std::size_t kSizes[] = {0, 1, 55, 64, 4095, 4096, 4097, 8192, 123457, 1 << 20};

Bytes Content(std::size_t bytes, std::uint32_t seed) {
  Bytes content(bytes);
  for (std::uint8_t& byte : content) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(seed >> 24);
  }
  return content;
}

std::vector<Digest> LeavesOf(ByteSpan bytes) {
  std::vector<Digest> leaves(CountLeaves(bytes.size()));
  HashLeaves(bytes, leaves);
  return leaves;
}

ByteSpan SpanOf(const Allocation& memory, std::size_t bytes) {
  return {static_cast<const std::uint8_t*>(memory.data()), bytes};
}

TEST(Hashes, RootsOfTensors) {
  for (const NamedBackend& named : AllBackends()) {
    SCOPED_TRACE(named.name);
    std::vector<Allocation> memory;
    std::vector<ByteSpan> tensors;
    std::vector<Digest> expected;
    for (const std::size_t bytes : kSizes) {
      const Bytes content = Content(bytes, static_cast<std::uint32_t>(bytes));
      memory.emplace_back(named.backend->memory(), bytes);
      named.backend->memory().CopyIn(memory.back().data(), content.data(), bytes);
      tensors.push_back(SpanOf(memory.back(), bytes));
      expected.push_back(TensorRoot(content));
    }
    EXPECT_EQ(named.backend->TensorRoots(tensors), expected);
  }
}

// A piece is hashed as it was when it was queued, whatever its memory holds when the hashes are taken.
TEST(Hashes, QueuedLeaves) {
  for (const NamedBackend& named : AllBackends()) {
    SCOPED_TRACE(named.name);
    MemorySpace& space = named.backend->memory();
    EXPECT_TRUE(named.backend->TakeLeafHashes().empty());
    const Allocation memory(space, 1 << 20);
    for (int round = 0; round < 2; ++round) {
      std::vector<Digest> expected;
      for (const std::size_t bytes : kSizes) {
        const Bytes content = Content(bytes, static_cast<std::uint32_t>(bytes) + 7);
        space.CopyIn(memory.data(), content.data(), bytes);
        named.backend->QueueLeafHashes(SpanOf(memory, bytes));
        for (const Digest& leaf : LeavesOf(content)) expected.push_back(leaf);
      }
      space.Zero(memory.data(), memory.bytes());
      EXPECT_EQ(named.backend->TakeLeafHashes(), expected);
      EXPECT_TRUE(named.backend->TakeLeafHashes().empty());
    }
  }
}

// More than a device keeps before it fetches.
TEST(Hashes, ManyQueuedLeaves) {
  constexpr std::size_t kBytes = (std::size_t{48} << 20) + 5;
  const Bytes content = Content(kBytes, 3);
  const std::vector<Digest> leaves = LeavesOf(content);
  for (const NamedBackend& named : AllBackends()) {
    if (named.backend->AsHost() != nullptr) continue;
    SCOPED_TRACE(named.name);
    const Allocation memory(named.backend->memory(), kBytes);
    named.backend->memory().CopyIn(memory.data(), content.data(), kBytes);
    std::vector<Digest> expected;
    for (int piece = 0; piece < 4; ++piece) {
      named.backend->QueueLeafHashes(SpanOf(memory, kBytes));
      expected.insert(expected.end(), leaves.begin(), leaves.end());
    }
    EXPECT_EQ(named.backend->TakeLeafHashes(), expected);
  }
}

}  // namespace
}  // namespace assay::testkit
