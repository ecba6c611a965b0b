// HashTree: an RFC 6962 tree with all its nodes, for many proofs out of one tree: each costs a few look-ups, where the functions of
// proof.h hash all of the tree again. The proofs are the same. Immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/merkle/frontier.h"
#include "assay/merkle/proof.h"
#include "assay/merkle/sha256.h"

namespace assay {

class HashTree {
 public:
  explicit HashTree(std::vector<Digest> leaves);

  std::uint64_t size() const { return levels_.front().size(); }
  Digest root() const;
  Digest Node(LeafSpan node) const;                                 // IsNode(node, size())
  Hashes ProveRange(std::uint64_t begin, std::uint64_t end) const;  // begin < end <= size()

 private:
  void Collect(std::size_t level, std::uint64_t index, std::uint64_t begin, std::uint64_t end, Hashes& out) const;
  std::vector<std::vector<Digest>> levels_;  // the leaves; then each pair of neighbours joined, an odd last one as it is
};

}  // namespace assay
