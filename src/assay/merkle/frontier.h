// Walking down an RFC 6962 tree a few levels at a time: which subtrees a node splits into, and how their hashes make up its own. Pure
// functions; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/merkle/sha256.h"

namespace assay {

// Leaves [begin, end) of a tree.
struct LeafSpan {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - begin; }
  friend bool operator==(const LeafSpan&, const LeafSpan&) = default;
};

// Whether the span is a node of the tree over `size` leaves: the whole, one leaf, or one of the halves of a node.
bool IsNode(LeafSpan span, std::uint64_t size);

// The nodes `levels` levels below `node`, from left to right; leaves on the way are taken as they are. The node is not empty.
std::vector<LeafSpan> Frontier(LeafSpan node, int levels);

// The hash of `node` from those of its frontier; hashes.size() must be that of the frontier.
Digest JoinFrontier(LeafSpan node, int levels, std::span<const Digest> hashes);

}  // namespace assay
