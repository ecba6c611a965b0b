#include "assay/merkle/growing_root.h"

#include <gtest/gtest.h>

#include "assay/merkle/tree.h"

namespace assay {
namespace {

TEST(GrowingRoot, IsTheTreesRootAtEverySize) {
  GrowingRoot growing;
  std::vector<Digest> leaves;
  for (std::uint8_t i = 0; i < 140; ++i) {
    EXPECT_EQ(growing.size(), leaves.size());
    EXPECT_EQ(growing.root(), TreeRoot(leaves)) << leaves.size();
    leaves.push_back(LeafHash(Bytes{i}));
    growing.Add(leaves.back());
  }
}

}  // namespace
}  // namespace assay
