#include "assay/merkle/hash_tree.h"

#include <gtest/gtest.h>

#include "assay/merkle/tree.h"

namespace assay {
namespace {

TEST(HashTree, ProofsAreThoseFromTheLeaves) {
  std::vector<Digest> leaves;
  for (std::uint8_t size = 0; size <= 40; ++size) {
    const HashTree tree(leaves);
    EXPECT_EQ(tree.size(), size);
    EXPECT_EQ(tree.root(), TreeRoot(leaves)) << int{size};
    for (std::uint64_t begin = 0; begin < size; ++begin) {
      for (std::uint64_t end = begin + 1; end <= size; ++end) {
        EXPECT_EQ(tree.ProveRange(begin, end), ProveRange(leaves, begin, end)) << begin << " .. " << end << " of " << int{size};
      }
    }
    leaves.push_back(LeafHash({&size, 1}));
  }
}

}  // namespace
}  // namespace assay
