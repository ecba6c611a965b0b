#include "assay/merkle/tensor_hasher.h"

#include <algorithm>
#include <utility>

namespace assay {

void TensorHasher::Update(ByteSpan bytes) {
  if (!begun_.empty()) {
    const ByteSpan more = bytes.first(std::min(bytes.size(), kLeafBytes - begun_.size()));
    begun_.insert(begun_.end(), more.begin(), more.end());
    bytes = bytes.subspan(more.size());
    if (begun_.size() < kLeafBytes) return;
    leaves_.push_back(LeafHash(begun_));
    begun_.clear();
  }
  const std::size_t whole = bytes.size() / kLeafBytes, before = leaves_.size();
  leaves_.resize(before + whole);
  HashLeaves(bytes.first(whole * kLeafBytes), std::span(leaves_).subspan(before));
  const ByteSpan rest = bytes.subspan(whole * kLeafBytes);
  begun_.assign(rest.begin(), rest.end());
}

Digest TensorHasher::Finish() {
  if (!begun_.empty()) leaves_.push_back(LeafHash(begun_));
  begun_.clear();
  return TreeRoot(std::exchange(leaves_, {}));
}

}  // namespace assay
