#include "assay/merkle/proof.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxSize = std::numeric_limits<std::int64_t>::max();

// The largest power of two below `size`, where a tree of that many leaves splits. size > 1.
std::uint64_t Split(std::uint64_t size) { return std::bit_floor(size - 1); }

Digest RootOf(std::span<const Digest> leaves) { return TreeRoot({leaves.begin(), leaves.end()}); }

Status CheckRoot(const Digest& computed, const Digest& root, std::string_view which) {
  if (computed == root) return {};
  return Err("the proof leads to the {}root {}, expected {}", which, computed.hex(), root.hex());
}

// A position in two trees at once, climbing from a node of the lower edge towards the root: `node` counts those of its level to
// its left, `last` does so for the level's rightmost. A level where the node stands alone at the right edge has no sibling and no
// hash in the proof.
class Climb {
 public:
  Climb(std::uint64_t node, std::uint64_t last) : node_(node), last_(last) {}
  bool AtRoot() const { return last_ == 0; }
  bool SiblingIsLeft() const { return (node_ & 1) != 0 || node_ == last_; }
  void SkipRightSubtrees() {  // up while the node is a right child
    while ((node_ & 1) != 0) Up();
  }
  // Past the level whose sibling was used, and past those without one.
  void Next() {
    if (SiblingIsLeft()) {
      while ((node_ & 1) == 0 && node_ != 0) Up();
    }
    Up();
  }

 private:
  void Up() { node_ >>= 1, last_ >>= 1; }
  std::uint64_t node_, last_;
};

// The part [lo, hi) of a tree, seen from a range that is being proven: what lies outside the range comes from, or goes to, the
// proof.
void CollectOutside(std::span<const Digest> leaves, std::uint64_t lo, std::uint64_t hi, std::uint64_t begin, std::uint64_t end,
                    Hashes& proof) {
  if (hi <= begin || end <= lo) {
    proof.push_back(RootOf(leaves.subspan(static_cast<std::size_t>(lo), static_cast<std::size_t>(hi - lo))));
  } else if (lo < begin || end < hi) {
    const std::uint64_t middle = lo + Split(hi - lo);
    CollectOutside(leaves, lo, middle, begin, end, proof);
    CollectOutside(leaves, middle, hi, begin, end, proof);
  }
}

struct RangeCursor {
  std::span<const Digest> range;
  std::uint64_t begin;
  std::span<const Digest> proof;  // what was not used yet

  Digest Root(std::uint64_t lo, std::uint64_t hi) {
    const std::uint64_t end = begin + range.size();
    if (hi <= begin || end <= lo) {
      ASSAY_CHECK(!proof.empty());  // the proof has as many hashes as there are such subtrees
      const Digest hash = proof.front();
      proof = proof.subspan(1);
      return hash;
    }
    if (begin <= lo && hi <= end)
      return RootOf(range.subspan(static_cast<std::size_t>(lo - begin), static_cast<std::size_t>(hi - lo)));
    const std::uint64_t middle = lo + Split(hi - lo);
    const Digest left = Root(lo, middle);
    return NodeHash(left, Root(middle, hi));
  }
};

}  // namespace

Hashes ProveInclusion(std::span<const Digest> leaves, std::uint64_t index) {
  ASSAY_CHECK(index < leaves.size());
  Hashes proof;  // from the root down, turned round at the end
  while (leaves.size() > 1) {
    const auto k = static_cast<std::size_t>(Split(leaves.size()));
    const bool left = index < k;
    proof.push_back(RootOf(left ? leaves.subspan(k) : leaves.first(k)));
    leaves = left ? leaves.first(k) : leaves.subspan(k);
    if (!left) index -= k;
  }
  std::reverse(proof.begin(), proof.end());
  return proof;
}

Status VerifyInclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size, std::span<const Digest> proof,
                       const Digest& root) {
  if (size > kMaxSize || index >= size) return Err("leaf {} is not one of a tree of {} leaves", index, size);
  Digest hash = leaf;
  Climb climb(index, size - 1);
  for (const Digest& sibling : proof) {
    if (climb.AtRoot()) return Err("the proof has {} hashes, too many for leaf {} of {}", proof.size(), index, size);
    hash = climb.SiblingIsLeft() ? NodeHash(sibling, hash) : NodeHash(hash, sibling);
    climb.Next();
  }
  if (!climb.AtRoot()) return Err("the proof has {} hashes, too few for leaf {} of {}", proof.size(), index, size);
  return CheckRoot(hash, root, "");
}

Hashes ProveConsistency(std::span<const Digest> leaves, std::uint64_t old_size) {
  ASSAY_CHECK(old_size > 0 && old_size <= leaves.size());
  Hashes proof;             // from the root down, turned round at the end
  bool is_old_root = true;  // whether the subtree begins where the tree does: then its old part needs no hash
  while (old_size != leaves.size()) {
    const auto k = static_cast<std::size_t>(Split(leaves.size()));
    const bool left = old_size <= k;
    proof.push_back(RootOf(left ? leaves.subspan(k) : leaves.first(k)));
    leaves = left ? leaves.first(k) : leaves.subspan(k);
    if (!left) old_size -= k, is_old_root = false;
  }
  if (!is_old_root) proof.push_back(RootOf(leaves));
  std::reverse(proof.begin(), proof.end());
  return proof;
}

Status VerifyConsistency(std::uint64_t old_size, const Digest& old_root, std::uint64_t size, const Digest& root,
                         std::span<const Digest> proof) {
  if (size > kMaxSize || old_size == 0 || old_size > size)
    return Err("{} leaves cannot be proven the first of {}", old_size, size);
  if (old_size == size) {
    if (!proof.empty()) return Err("the proof has {} hashes, expected none between equal sizes", proof.size());
    return CheckRoot(old_root, root, "");
  }
  // The climb begins at the largest subtree that ends where the old tree does. It is the old tree itself if that is whole.
  Climb climb(old_size - 1, size - 1);
  climb.SkipRightSubtrees();
  const bool whole = std::has_single_bit(old_size);
  if (!whole && proof.empty()) return Err("the proof has no hashes, too few between {} and {} leaves", old_size, size);
  Digest old_hash = whole ? old_root : proof.front(), hash = old_hash;
  for (const Digest& sibling : whole ? proof : proof.subspan(1)) {
    if (climb.AtRoot()) return Err("the proof has {} hashes, too many between {} and {} leaves", proof.size(), old_size, size);
    if (climb.SiblingIsLeft()) {
      old_hash = NodeHash(sibling, old_hash);
      hash = NodeHash(sibling, hash);
    } else {
      hash = NodeHash(hash, sibling);
    }
    climb.Next();
  }
  if (!climb.AtRoot()) return Err("the proof has {} hashes, too few between {} and {} leaves", proof.size(), old_size, size);
  ASSAY_TRY(CheckRoot(old_hash, old_root, "old "));
  return CheckRoot(hash, root, "");
}

Hashes ProveRange(std::span<const Digest> leaves, std::uint64_t begin, std::uint64_t end) {
  ASSAY_CHECK(begin < end && end <= leaves.size());
  Hashes proof;
  CollectOutside(leaves, 0, leaves.size(), begin, end, proof);
  return proof;
}

Status VerifyRange(std::span<const Digest> range, std::uint64_t begin, std::uint64_t size, std::span<const Digest> proof,
                   const Digest& root) {
  if (range.empty()) return Err("an empty range cannot be proven");
  if (size > kMaxSize || begin >= size || range.size() > size - begin) {
    return Err("{} leaves from {} on are not in a tree of {} leaves", range.size(), begin, size);
  }
  const std::uint64_t expected = RangeProofSize(begin, begin + range.size(), size);
  if (proof.size() != expected) {
    return Err("the proof has {} hashes, expected {} for {} leaves from {} on of {}", proof.size(), expected, range.size(),
               begin, size);
  }
  RangeCursor cursor{range, begin, proof};
  return CheckRoot(cursor.Root(0, size), root, "");
}

std::uint64_t RangeProofSize(std::uint64_t begin, std::uint64_t end, std::uint64_t size) {
  ASSAY_CHECK(begin < end && end <= size && size <= kMaxSize);
  // To the left, one whole subtree for each bit of `begin`. To the right they grow with the alignment of where they start, until
  // one reaches the edge of the tree.
  auto count = static_cast<std::uint64_t>(std::popcount(begin));
  while (end < size) {
    ++count;
    const std::uint64_t step = end & (~end + 1);
    if (size - end <= step) break;
    end += step;
  }
  return count;
}

}  // namespace assay
