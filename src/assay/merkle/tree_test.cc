#include "assay/merkle/tree.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// RFC 6962, section 2.1, word for word.
Digest NaiveRoot(std::span<const Digest> leaves) {
  if (leaves.empty()) return HashBytes({});
  if (leaves.size() == 1) return leaves[0];
  std::size_t k = 1;
  while (2 * k < leaves.size()) k *= 2;
  return NodeHash(NaiveRoot(leaves.first(k)), NaiveRoot(leaves.subspan(k)));
}

Bytes Pattern(std::size_t size, std::uint8_t salt) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 131 + (i >> 8) + salt);
  return bytes;
}

TEST(Tree, RootEqualsTheRecursiveDefinition) {
  for (std::size_t count = 0; count <= 70; ++count) {
    std::vector<Digest> leaves;
    for (std::size_t i = 0; i < count; ++i) leaves.push_back(LeafHash(Pattern(i, 1)));
    EXPECT_EQ(TreeRoot(leaves), NaiveRoot(leaves)) << count;
  }
}

// The roots over the first 0 .. 8 leaves of the test data that Certificate Transparency implementations share.
TEST(Tree, SharedVectors) {
  const char* inputs[] = {"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
  const char* roots[] = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                         "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                         "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                         "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                         "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                         "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                         "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                         "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                         "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  std::vector<Digest> leaves;
  for (std::size_t i = 0; i <= 8; ++i) {
    EXPECT_EQ(TreeRoot(leaves).hex(), roots[i]) << i;
    if (i < 8) leaves.push_back(LeafHash(*FromHex(inputs[i])));
  }
}

TEST(Tree, TensorLeavesAre4KiB) {
  for (std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 8192u, 3u * 4096 + 5}) {
    const Bytes data = Pattern(size, 2);
    std::vector<Digest> leaves;
    for (std::size_t begin = 0; begin < size; begin += 4096) {
      leaves.push_back(LeafHash(ByteSpan(data).subspan(begin, std::min<std::size_t>(4096, size - begin))));
    }
    EXPECT_EQ(TensorRoot(data), NaiveRoot(leaves)) << size;
  }
}

// Tensors of one leaf, of every kind of last leaf, and of several pieces that threads hash apart, the last of them of any size.
TEST(Tree, TensorRootsEqualTheDefinition) {
  std::vector<std::size_t> sizes = {3u << 20, (5u << 20) + 1};
  for (std::size_t leaves : {1u, 2u, 3u, 5u, 17u, 255u, 256u, 257u, 511u, 512u, 513u, 700u}) {
    for (std::size_t last : {1u, 55u, 63u, 64u, 119u, 4095u, 4096u}) sizes.push_back((leaves - 1) * 4096 + last);
  }
  for (std::size_t size : sizes) {
    const Bytes data = Pattern(size, 4);
    std::vector<Digest> leaves;
    for (std::size_t begin = 0; begin < size; begin += 4096) {
      leaves.push_back(LeafHash(ByteSpan(data).subspan(begin, std::min<std::size_t>(4096, size - begin))));
    }
    EXPECT_EQ(TensorRoot(data), NaiveRoot(leaves)) << size;
    ASSERT_EQ(CountLeaves(size), leaves.size()) << size;
    std::vector<Digest> hashes(leaves.size());
    HashLeaves(data, hashes);
    EXPECT_EQ(hashes, leaves) << size;
  }
}

TEST(Tree, ParallelRootsEqualSerialOnes) {
  std::vector<Bytes> data;
  for (std::size_t size : {0u, 5u, 0u, 0u, 4096u, 1000000u, 5000000u, 0u, 12345u, 1u << 20, 0u})
    data.push_back(Pattern(size, 3));
  const std::vector<ByteSpan> spans(data.begin(), data.end());
  for (int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    const std::vector<Digest> roots = TensorRoots(spans, pool);
    ASSERT_EQ(roots.size(), data.size());
    for (std::size_t t = 0; t < data.size(); ++t) EXPECT_EQ(roots[t], TensorRoot(data[t])) << t;
  }
}

// Computed from docs/formats/state.md by tests/vectors/state_root.py.
TEST(Tree, StateRootVectors) {
  EXPECT_EQ(StateRoot({}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Bytes values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i);
  const TensorEntry entries[] = {{"bias", {DType::kF32, {0}}, TensorRoot({})},
                                 {"step", {DType::kI64, {}}, TensorRoot(ByteSpan(values).first(8))},
                                 {"weight", {DType::kF32, {2, 3}}, TensorRoot(values)}};
  EXPECT_EQ(StateRoot(entries).hex(), "626f85def6f96a72bc56b93099fbd7884c9bf93152bf884f4e61ce3b7aa539d1");
}

TEST(Tree, StateRootBindsNameTypeShapeAndContent) {
  const TensorEntry base{"w", {DType::kF32, {2, 3}}, TensorRoot(Pattern(24, 0))};
  const Digest root = StateRoot({&base, 1});
  TensorEntry other = base;
  other.name = "v";
  EXPECT_NE(StateRoot({&other, 1}), root);
  other = base;
  other.type.dtype = DType::kI32;
  EXPECT_NE(StateRoot({&other, 1}), root);
  other = base;
  other.type.shape = {3, 2};
  EXPECT_NE(StateRoot({&other, 1}), root);
  other = base;
  other.root = TensorRoot(Pattern(24, 1));
  EXPECT_NE(StateRoot({&other, 1}), root);
}

}  // namespace
}  // namespace assay
