#include "assay/merkle/frontier.h"

#include <bit>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

std::uint64_t Split(LeafSpan node) { return node.begin + std::bit_floor(node.size() - 1); }

void Collect(LeafSpan node, int levels, std::vector<LeafSpan>& out) {
  if (levels == 0 || node.size() == 1) return out.push_back(node);
  const std::uint64_t middle = Split(node);
  Collect({node.begin, middle}, levels - 1, out);
  Collect({middle, node.end}, levels - 1, out);
}

Digest Join(LeafSpan node, int levels, std::span<const Digest>& hashes) {
  if (levels == 0 || node.size() == 1) {
    const Digest hash = hashes.front();
    hashes = hashes.subspan(1);
    return hash;
  }
  const std::uint64_t middle = Split(node);
  const Digest left = Join({node.begin, middle}, levels - 1, hashes);
  const Digest right = Join({middle, node.end}, levels - 1, hashes);
  return NodeHash(left, right);
}

}  // namespace

bool IsNode(LeafSpan span, std::uint64_t size) {
  if (span.begin >= span.end || span.end > size) return false;
  LeafSpan node{0, size};
  while (node != span) {
    if (node.size() == 1) return false;
    const std::uint64_t middle = Split(node);
    if (span.end <= middle) {
      node.end = middle;
    } else if (span.begin >= middle) {
      node.begin = middle;
    } else {
      return false;
    }
  }
  return true;
}

std::vector<LeafSpan> Frontier(LeafSpan node, int levels) {
  ASSAY_CHECK(node.begin < node.end && levels >= 0);
  std::vector<LeafSpan> out;
  Collect(node, levels, out);
  return out;
}

Digest JoinFrontier(LeafSpan node, int levels, std::span<const Digest> hashes) {
  const Digest root = Join(node, levels, hashes);
  ASSAY_CHECK(hashes.empty());
  return root;
}

}  // namespace assay
