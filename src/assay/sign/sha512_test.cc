#include "assay/sign/sha512.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// FIPS 180-4's examples, and a message that takes many blocks.
TEST(Sha512, PublishedVectors) {
  const std::pair<std::string, const char*> vectors[] = {
      {"abc",
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94"
       "fa54c"
       "a49f"},
      {"",
       "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327"
       "af927"
       "da3e"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55"
       "b874b"
       "e909"},
      {std::string(1000000, 'a'),
       "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb21"
       "7ad8c"
       "c09b"}};
  for (const auto& [message, expected] : vectors) EXPECT_EQ(Hex(Sha512().Update(AsBytes(message)).Finish()), expected);
}

// The hash of the hashes of the messages 0, 0 1, 0 1 2, ... up to 300 bytes: every place where padding can begin. By Python's
// hashlib.
TEST(Sha512, EveryLength) {
  Bytes message;
  Sha512 all;
  for (std::size_t size = 0; size < 300; ++size) {
    message.push_back(static_cast<std::uint8_t>(size));
    all.Update(Sha512().Update(message).Finish());
  }
  EXPECT_EQ(Hex(all.Finish()),
            "13585a46780a5efad34c0931209cae6b4ac99a13b87565712dd28f79361d0ec4aac3c53efe66a3971d5a0d2cc7fe49408704a1cb5652ce62c5"
            "bf90639a5a"
            "118f");
}

TEST(Sha512, PiecesMakeNoDifference) {
  Bytes message(500);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::uint8_t>(i * 7);
  const Sha512::Value whole = Sha512().Update(message).Finish();
  for (std::size_t piece : {1u, 3u, 63u, 127u, 128u, 129u, 400u}) {
    Sha512 hash;
    for (std::size_t begin = 0; begin < message.size(); begin += piece) {
      hash.Update(ByteSpan(message).subspan(begin, std::min(piece, message.size() - begin)));
    }
    EXPECT_EQ(hash.Finish(), whole) << piece;
  }
}

}  // namespace
}  // namespace assay
