#include "assay/merkle/tensor_hasher.h"

#include <gtest/gtest.h>

#include <random>

namespace assay {
namespace {

TEST(TensorHasher, AnyCutGivesTheTensorRoot) {
  std::mt19937 random(20261);
  TensorHasher hasher;  // one for all, since Finish starts over
  for (std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 8192u, 12289u, 40000u}) {
    Bytes bytes(size);
    for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(random());
    for (std::size_t largest : {1u, 100u, 4096u, 5000u, 50000u}) {
      for (std::size_t at = 0; at < size;) {
        const std::size_t piece = std::min<std::size_t>(size - at, random() % (largest + 1));
        hasher.Update(ByteSpan(bytes).subspan(at, piece));
        at += piece;
      }
      EXPECT_EQ(hasher.Finish(), TensorRoot(bytes)) << size << " bytes in pieces of up to " << largest;
    }
  }
}

}  // namespace
}  // namespace assay
