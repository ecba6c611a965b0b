#include "assay/merkle/growing_root.h"

#include "assay/merkle/tree.h"

namespace assay {

void GrowingRoot::Add(const Digest& leaf) {
  whole_.push_back(leaf);
  // Each full subtree that this leaf completes.
  for (std::uint64_t bits = size_++; (bits & 1) != 0; bits >>= 1) {
    const Digest right = whole_.back();
    whole_.pop_back();
    whole_.back() = NodeHash(whole_.back(), right);
  }
}

Digest GrowingRoot::root() const {
  if (whole_.empty()) return HashBytes({});
  Digest root = whole_.back();
  for (std::size_t i = whole_.size() - 1; i-- > 0;) root = NodeHash(whole_[i], root);
  return root;
}

}  // namespace assay
