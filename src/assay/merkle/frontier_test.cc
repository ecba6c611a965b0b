#include "assay/merkle/frontier.h"

#include <gtest/gtest.h>

#include "assay/merkle/hash_tree.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

std::vector<Digest> Leaves(std::uint64_t n) {
  std::vector<Digest> leaves;
  for (std::uint64_t i = 0; i < n; ++i) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&i);
    leaves.push_back(LeafHash({bytes, sizeof i}));
  }
  return leaves;
}

TEST(Frontier, JoinsToTheNodeForEverySizeNodeAndDepth) {
  for (std::uint64_t n = 1; n <= 70; ++n) {
    const std::vector<Digest> leaves = Leaves(n);
    const HashTree tree(leaves);
    std::uint64_t nodes = 0;
    for (std::uint64_t b = 0; b < n; ++b) {
      for (std::uint64_t e = b + 1; e <= n; ++e) {
        const LeafSpan span{b, e};
        if (!IsNode(span, n)) continue;
        ++nodes;
        const Digest expected = TreeRoot({leaves.begin() + static_cast<long>(b), leaves.begin() + static_cast<long>(e)});
        EXPECT_EQ(tree.Node(span), expected) << b << ".." << e << " of " << n;
        for (int levels = 0; levels <= 7; ++levels) {
          std::vector<Digest> hashes;
          std::uint64_t at = b;
          for (const LeafSpan part : Frontier(span, levels)) {
            EXPECT_EQ(part.begin, at);
            EXPECT_TRUE(IsNode(part, n));
            at = part.end;
            hashes.push_back(tree.Node(part));
          }
          EXPECT_EQ(at, e);
          EXPECT_EQ(JoinFrontier(span, levels, hashes), expected);
        }
      }
    }
    EXPECT_EQ(nodes, 2 * n - 1);  // a binary tree with n leaves
  }
}

TEST(Frontier, EmptyAndForeignSpansAreNoNodes) {
  EXPECT_FALSE(IsNode({0, 0}, 0));
  EXPECT_FALSE(IsNode({0, 0}, 5));
  EXPECT_FALSE(IsNode({0, 6}, 5));
  EXPECT_FALSE(IsNode({1, 3}, 5));
  EXPECT_FALSE(IsNode({3, 2}, 5));
  EXPECT_TRUE(IsNode({4, 5}, 5));
}

}  // namespace
}  // namespace assay
