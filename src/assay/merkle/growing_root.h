// GrowingRoot: the root of docs/formats/state.md over leaves that come one after the other, in memory that grows with the logarithm of their
// number. The same root as TreeRoot. Value type; not synchronised.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/merkle/sha256.h"

namespace assay {

class GrowingRoot {
 public:
  void Add(const Digest& leaf);
  std::uint64_t size() const { return size_; }
  Digest root() const;  // of no leaves, the hash of no bytes

 private:
  std::vector<Digest>
      whole_;  // of the full subtrees that the leaves make up, the largest first: one for each bit of their number
  std::uint64_t size_ = 0;
};

}  // namespace assay
