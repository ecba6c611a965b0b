#include "assay/merkle/hash_tree.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay {

HashTree::HashTree(std::vector<Digest> leaves) {
  levels_.push_back(std::move(leaves));
  while (levels_.back().size() > 1) {
    const std::vector<Digest>& below = levels_.back();
    std::vector<Digest> level((below.size() + 1) / 2);
    for (std::size_t i = 0; i < below.size() / 2; ++i) level[i] = NodeHash(below[2 * i], below[2 * i + 1]);
    if (below.size() % 2 == 1) level.back() = below.back();
    levels_.push_back(std::move(level));
  }
}

Digest HashTree::root() const { return size() == 0 ? HashBytes({}) : levels_.back().front(); }

Digest HashTree::Node(LeafSpan node) const {
  ASSAY_CHECK(IsNode(node, size()));
  const auto level = static_cast<std::size_t>(std::bit_width(node.size() - 1));
  return levels_[level][static_cast<std::size_t>(node.begin >> level)];
}

Hashes HashTree::ProveRange(std::uint64_t begin, std::uint64_t end) const {
  ASSAY_CHECK(begin < end && end <= size());
  Hashes out;
  Collect(levels_.size() - 1, 0, begin, end, out);
  return out;
}

// Appends, from left to right, the largest subtrees of this node that hold no leaf of [begin, end).
void HashTree::Collect(std::size_t level, std::uint64_t index, std::uint64_t begin, std::uint64_t end, Hashes& out) const {
  if (index >= levels_[level].size()) return;  // the missing neighbour of an odd last node
  const std::uint64_t first = index << level, last = std::min((index + 1) << level, size());
  if (last <= begin || end <= first) {
    out.push_back(levels_[level][static_cast<std::size_t>(index)]);
  } else if (first < begin || end < last) {
    Collect(level - 1, 2 * index, begin, end, out);
    Collect(level - 1, 2 * index + 1, begin, end, out);
  }
}

}  // namespace assay
