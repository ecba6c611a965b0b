// TensorHasher: the root of a tensor whose bytes arrive in pieces of any size.
//
// Like Sha256 a stream: Update any number of times, then Finish, which starts over. Leaves that lie whole inside a piece are hashed where
// they are; only what a piece leaves of its last one is copied. Not synchronised.
#pragma once

#include <vector>

#include "assay/merkle/tree.h"

namespace assay {

class TensorHasher {
 public:
  void Update(ByteSpan bytes);
  Digest Finish();  // TensorRoot of everything since the last Finish

 private:
  Bytes begun_;  // the first bytes of a leaf that is not full yet
  std::vector<Digest> leaves_;
};

}  // namespace assay
