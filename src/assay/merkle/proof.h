// Proofs about RFC 6962 trees, made from leaf hashes and checked by pure functions that know only roots (RFC 9162, section 2.1).
//
// A verifier accepts exactly what the maker produces: a proof with a hash too many or too few, for an index or a size that does
// not fit, or for an empty tree is refused. Sizes go up to 2^63 - 1. Verifying costs at most 64 nodes beyond those over the range
// itself, whatever the sizes claimed. A root does not bind its tree's size (a leaf's path can look the same in trees of different
// sizes): root and size belong together and come from the same signed checkpoint. Pure functions; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"

namespace assay {

using Hashes = std::vector<Digest>;

// That leaf `index` is one of the tree over `leaves`. index < leaves.size().
Hashes ProveInclusion(std::span<const Digest> leaves, std::uint64_t index);
Status VerifyInclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size, std::span<const Digest> proof,
                       const Digest& root);

// That the tree over the first `old_size` leaves is a prefix of the tree over all. 0 < old_size <= leaves.size(); the proof between
// equal sizes is empty. A proof from the empty tree says nothing and is refused.
Hashes ProveConsistency(std::span<const Digest> leaves, std::uint64_t old_size);
Status VerifyConsistency(std::uint64_t old_size, const Digest& old_root, std::uint64_t size, const Digest& root,
                         std::span<const Digest> proof);

// That `range` are the leaves [begin, begin + range.size()) of the tree: the hashes of the largest whole subtrees to the left of
// the range, from left to right, then of those to its right, from left to right. The range is not empty.
Hashes ProveRange(std::span<const Digest> leaves, std::uint64_t begin, std::uint64_t end);
Status VerifyRange(std::span<const Digest> range, std::uint64_t begin, std::uint64_t size, std::span<const Digest> proof,
                   const Digest& root);

// How many hashes the proof of a range has (that of one leaf's inclusion has as many, in another order); what a reader allows
// before it reads them. begin < end <= size <= 2^63 - 1; at most 124.
std::uint64_t RangeProofSize(std::uint64_t begin, std::uint64_t end, std::uint64_t size);
inline constexpr std::size_t kMaxConsistencyHashes = 64;

}  // namespace assay
