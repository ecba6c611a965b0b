#include "assay/merkle/sha256.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace assay {
namespace {

// Examples published with FIPS 180-4 and NIST's CAVP short messages.
TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(HashBytes({}).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashBytes(AsBytes("abc")).hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashBytes(AsBytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")).hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashBytes(AsBytes("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                              "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"))
                .hex(),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(HashBytes(Bytes(1000000, 'a')).hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(HashBytes(*FromHex("d3")).hex(), "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
}

TEST(Sha256, StreamingEqualsOneShotAtEverySplit) {
  Bytes data(200);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 37);
  for (std::size_t size = 0; size <= data.size(); ++size) {
    const ByteSpan all = ByteSpan(data).first(size);
    const Digest whole = HashBytes(all);
    for (std::size_t split = 0; split <= size; split += 7) {
      Sha256 hash;
      hash.Update(all.first(split));
      hash.Update(all.subspan(split));
      EXPECT_EQ(hash.Finish(), whole) << size << " " << split;
    }
  }
}

TEST(Sha256, HardwareEqualsPortable) {
  const sha256::CompressFn hardware = sha256::CompressHardware();
  if (hardware == nullptr) GTEST_SKIP() << "no SHA instructions here";
  std::srand(1);
  Bytes data(64 * 9 + 1);
  for (int round = 0; round < 200; ++round) {
    for (auto& byte : data) byte = static_cast<std::uint8_t>(std::rand());
    std::uint32_t a[8], b[8];
    for (int i = 0; i < 8; ++i) a[i] = b[i] = static_cast<std::uint32_t>(std::rand());
    hardware(a, data.data() + 1, 9);
    sha256::CompressPortable(b, data.data() + 1, 9);
    for (int i = 0; i < 8; ++i) ASSERT_EQ(a[i], b[i]);
  }
}

TEST(Sha256, HexRoundTripAndErrors) {
  const Digest digest = HashBytes(AsBytes("abc"));
  EXPECT_EQ(*Digest::FromHex(digest.hex()), digest);
  EXPECT_FALSE(Digest::FromHex("00"));
  EXPECT_FALSE(Digest::FromHex(std::string(64, 'G')));
}

}  // namespace
}  // namespace assay
