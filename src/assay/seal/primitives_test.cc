// Published vectors, for what libsodium does and for what is built on it here.
#include "assay/seal/primitives.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/seal_trial.h"

namespace assay::seal {
namespace {

using Primitives = SealTrial;

Point FromText(std::string_view hex) {
  Point out{};
  const Bytes bytes = *FromHex(hex);
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

// RFC 7748, section 6.1.
TEST_F(Primitives, X25519) {
  const Secret<32> bob(FromText("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  EXPECT_EQ(Hex(X25519Base(bob)), "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  Secret<32> shared;
  EXPECT_TRUE(X25519(bob, FromText("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"), shared));
  EXPECT_EQ(Hex(shared.bytes()), "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
}

TEST_F(Primitives, PointsOfSmallOrder) {
  Secret<32> shared;
  const Secret<32> scalar(FromText("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
  // 0, 1, p - 1, p and one of order 8.
  for (const std::string_view point : {"0000000000000000000000000000000000000000000000000000000000000000",
                                       "0100000000000000000000000000000000000000000000000000000000000000",
                                       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                       "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                       "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"}) {
    EXPECT_FALSE(X25519(scalar, FromText(point), shared)) << point;
  }
}

// RFC 4231, case 2.
TEST_F(Primitives, Hmac) {
  EXPECT_EQ(Hex(HmacSha256(AsBytes("Jefe"), AsBytes("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

// RFC 5869, cases 1 and 3: the first 32 bytes of their outputs.
TEST_F(Primitives, Hkdf) {
  const Bytes material(22, 0x0b), salt = *FromHex("000102030405060708090a0b0c"), info = *FromHex("f0f1f2f3f4f5f6f7f8f9");
  EXPECT_EQ(Hex(HkdfSha256(material, salt, std::string(info.begin(), info.end())).bytes()),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
  EXPECT_EQ(Hex(HkdfSha256(material, {}, "").bytes()), "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d");
}

TEST_F(Primitives, NothingComesOutOfWhatDoesNotFit) {
  const Secret<32> key;
  const Bytes plain = Pattern(100);
  Bytes sealed(116), out(100);
  Encrypt(key, Nonce{}, plain, sealed);
  EXPECT_TRUE(Decrypt(key, Nonce{}, sealed, out));
  EXPECT_EQ(out, plain);
  sealed[115] ^= 1;
  EXPECT_FALSE(Decrypt(key, Nonce{}, sealed, out));
  EXPECT_EQ(out, Bytes(100));
}

TEST(Secrets, AreWipedWhenMovedFrom) {
  Secret<16> one(std::array<std::uint8_t, 16>{1, 2, 3});
  const Secret<16> other(std::move(one));
  EXPECT_EQ(other.bytes()[2], 3);
  EXPECT_EQ(one.bytes(), (std::array<std::uint8_t, 16>{}));
}

TEST(Randomness, OfTheSystemVaries) {
  std::array<std::uint8_t, 300> one{}, other{};
  SystemRandomness(one);
  SystemRandomness(other);
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace assay::seal
