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
  for (; bytes.size() >= kLeafBytes; bytes = bytes.subspan(kLeafBytes)) leaves_.push_back(LeafHash(bytes.first(kLeafBytes)));
  begun_.assign(bytes.begin(), bytes.end());
}

Digest TensorHasher::Finish() {
  if (!begun_.empty()) leaves_.push_back(LeafHash(begun_));
  begun_.clear();
  return TreeRoot(std::exchange(leaves_, {}));
}

}  // namespace assay
