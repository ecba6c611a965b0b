#include "assay/sign/ed25519.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "assay/base/philox.h"
#include "assay/sign/ed25519_own.h"
#include "assay/sign/ed25519_point.h"
#include "assay/sign/sha512.h"

namespace assay::ed25519 {
namespace {

template <std::size_t N>
std::array<std::uint8_t, N> FromHexArray(std::string_view hex) {
  const auto bytes = FromHex(hex);
  std::array<std::uint8_t, N> out{};
  EXPECT_TRUE(bytes && bytes->size() == N) << hex;
  if (bytes && bytes->size() == N) std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

// Bytes that depend on `number` alone.
template <std::size_t N>
std::array<std::uint8_t, N> Random(std::uint32_t number) {
  std::array<std::uint8_t, N> out{};
  for (std::uint32_t i = 0; i < N; ++i) out[i] = static_cast<std::uint8_t>(Philox({number, 25519}, {i, 0, 0, 0})[0]);
  return out;
}

Signature Join(const std::array<std::uint8_t, 32>& r, const std::array<std::uint8_t, 32>& s) {
  Signature out{};
  std::copy(r.begin(), r.end(), out.begin());
  std::copy(s.begin(), s.end(), out.begin() + 32);
  return out;
}

// Encodings of points of order 1, 2, 4 and 8, also those that are not canonical.
constexpr const char* kSmallOrder[] = {"0100000000000000000000000000000000000000000000000000000000000000",
                                       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                       "0000000000000000000000000000000000000000000000000000000000000000",
                                       "0000000000000000000000000000000000000000000000000000000000000080",
                                       "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
                                       "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
                                       "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
                                       "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
                                       "0100000000000000000000000000000000000000000000000000000000000080",
                                       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
                                       "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                       "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
                                       "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                       "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"};
constexpr std::size_t kCanonicalSmallOrder = 8;  // the first of them

TEST(Ed25519Field, Constants) {
  // The base point has order L only on the right curve and with a right root of -1.
  const Point base = BasePoint();
  EXPECT_EQ(Encode(Multiply(kOrder, base)), Encode(Point{}));
  const Scalar below = {kOrder[0] - 1, kOrder[1], kOrder[2], kOrder[3]};
  EXPECT_EQ(Encode(Multiply(below, base)), Encode(Negate(base)));
  EXPECT_FALSE(IsSmallOrder(base));
}

TEST(Ed25519Field, RingLaws) {
  std::vector<Fe> values = {kZero,
                            kOne,
                            kZero - kOne,
                            Fe{{kLimbMask, kLimbMask, kLimbMask, kLimbMask, kLimbMask}},
                            Fe{{kLimbMask - 18, kLimbMask, kLimbMask, kLimbMask, kLimbMask}},
                            DecodeFe(Random<32>(1)),
                            DecodeFe(Random<32>(2))};
  for (const Fe& a : values) {
    EXPECT_TRUE(IsZero(a - a));
    EXPECT_EQ(Encode(a * Invert(a)), Encode(IsZero(a) ? kZero : kOne));
    for (const Fe& b : values) {
      EXPECT_EQ(Encode(a + b), Encode(b + a));
      EXPECT_EQ(Encode(a - b), Encode(kZero - (b - a)));
      EXPECT_EQ(Encode(Square(a + b)), Encode((a + b) * (a + b)));
      for (const Fe& c : values) EXPECT_EQ(Encode((a - b) * c), Encode(a * c - b * c));
    }
  }
}

TEST(Ed25519Point, GroupLaws) {
  const Point p = Multiply(LoadScalar(Random<32>(3)), BasePoint()), q = Multiply(LoadScalar(Random<32>(4)), BasePoint());
  EXPECT_EQ(Encode(Add(p, q)), Encode(Add(q, p)));
  EXPECT_EQ(Encode(Add(Add(p, q), p)), Encode(Add(p, Add(q, p))));
  EXPECT_EQ(Encode(Add(p, Negate(p))), Encode(Point{}));
  EXPECT_EQ(Encode(Double(p)), Encode(Add(p, p)));
  EXPECT_EQ(Encode(Double(Point{})), Encode(Point{}));
  for (std::uint32_t number = 20; number < 40; ++number) {
    const Scalar scalar = LoadScalar(Random<32>(number));
    EXPECT_EQ(Encode(MultiplyBase(scalar)), Encode(Multiply(scalar, BasePoint()))) << number;
  }
  Point sum;
  for (std::uint64_t n = 0; n < 40; ++n, sum = Add(sum, p)) EXPECT_EQ(Encode(Multiply({n, 0, 0, 0}, p)), Encode(sum)) << n;
}

TEST(Ed25519Point, SmallOrdersAreKnownAndOthersRefused) {
  for (std::size_t i = 0; i < std::size(kSmallOrder); ++i) {
    const auto bytes = FromHexArray<32>(kSmallOrder[i]);
    const auto point = DecodePoint(bytes);
    EXPECT_EQ(point.has_value(), i < kCanonicalSmallOrder) << kSmallOrder[i];
    EXPECT_TRUE(!point || (IsSmallOrder(*point) && Encode(*point) == bytes)) << kSmallOrder[i];
    EXPECT_FALSE(IsUsable(bytes));
  }
  // Every y from p up to 2^255 - 1, with both signs.
  for (unsigned low = 0xed; low <= 0xff; ++low) {
    std::array<std::uint8_t, 32> bytes;
    bytes.fill(0xff);
    bytes[0] = static_cast<std::uint8_t>(low);
    EXPECT_FALSE(DecodePoint(bytes));
    bytes[31] = 0x7f;
    EXPECT_FALSE(DecodePoint(bytes));
  }
}

TEST(Ed25519Point, DecodingInvertsEncoding) {
  int points = 0;
  for (std::uint32_t number = 0; number < 400; ++number) {
    const auto bytes = Random<32>(100 + number);
    const auto point = DecodePoint(bytes);
    if (!point) continue;
    ++points;
    EXPECT_EQ(Encode(*point), bytes);
    EXPECT_TRUE(IsZero(point->x * point->y - point->z * point->t));
  }
  EXPECT_GT(points, 150);  // half of all y belong to points
  EXPECT_LT(points, 250);
}

TEST(Ed25519Scalar, Reduction) {
  std::array<std::uint8_t, 64> wide{};
  const auto order = StoreScalar(kOrder);
  std::copy(order.begin(), order.end(), wide.begin());
  EXPECT_EQ(ReduceHash(wide), Scalar{});
  wide[0] += 5;
  EXPECT_EQ(ReduceHash(wide), (Scalar{5, 0, 0, 0}));
  wide.fill(0xff);  // 2^512 - 1 modulo L, by Python
  EXPECT_EQ(Hex(StoreScalar(ReduceHash(wide))), "000f9c44e31106a447938568a71b0ed065bef517d273ecce3d9a307c1b419903");
  EXPECT_FALSE(IsReduced(kOrder));
  EXPECT_TRUE(IsReduced({kOrder[0] - 1, kOrder[1], kOrder[2], kOrder[3]}));
  EXPECT_FALSE(IsReduced({0, 0, 0, kOrder[3] + 1}));
  const Scalar minus_one = {kOrder[0] - 1, kOrder[1], kOrder[2], kOrder[3]};
  EXPECT_EQ(MultiplyAdd(minus_one, minus_one, minus_one), Scalar{});  // 1 - 1
}

// Whichever signs and verifies in this build, and our own.
struct Implementation {
  const char* name;
  PublicKey (*derive_public_key)(const Seed& seed);
  Signature (*sign)(const Seed& seed, const PublicKey& public_key, ByteSpan message);
  bool (*verify)(const PublicKey& public_key, ByteSpan message, const Signature& signature);
};

class Ed25519 : public testing::TestWithParam<Implementation> {
 protected:
  struct Signed {
    Seed seed = Random<32>(7);
    PublicKey key = GetParam().derive_public_key(seed);
    Bytes message = {'m', 'e', 's', 's', 'a', 'g', 'e'};
    Signature signature = GetParam().sign(seed, key, message);
  };

  static bool Verify(const PublicKey& key, ByteSpan message, const Signature& signature) {
    return GetParam().verify(key, message, signature);
  }
  static Signature Sign(const Seed& seed, const PublicKey& key, ByteSpan message) {
    return GetParam().sign(seed, key, message);
  }
  static PublicKey DerivePublicKey(const Seed& seed) { return GetParam().derive_public_key(seed); }
};

INSTANTIATE_TEST_SUITE_P(Linked, Ed25519, testing::Values(Implementation{"linked", &DerivePublicKey, &Sign, &Verify}));
INSTANTIATE_TEST_SUITE_P(Own, Ed25519, testing::Values(Implementation{"own", &own::DerivePublicKey, &own::Sign, &own::Verify}));

struct Vector {
  const char *seed, *public_key, *message, *signature;
};

// RFC 8032, section 7.1.
TEST_P(Ed25519, PublishedVectors) {
  const Vector vectors[] = {{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                             "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                             "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
                             "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
                            {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                             "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                             "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                             "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
                            {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                             "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
                             "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
                             "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
                            {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
                             "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
                             "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                             "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
                             "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
                             "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"}};
  for (const Vector& vector : vectors) {
    const auto seed = FromHexArray<32>(vector.seed);
    const Bytes message = *FromHex(vector.message);
    const PublicKey key = DerivePublicKey(seed);
    EXPECT_EQ(Hex(key), vector.public_key);
    const Signature signature = Sign(seed, key, message);
    EXPECT_EQ(Hex(signature), vector.signature);
    EXPECT_TRUE(Verify(key, message, signature));
  }
}

// The cases of "Taming the many EdDSAs" (Chalkias, Garillot, Nikolaenko 2020), under the numbers of the paper, and two of an
// earlier list. They separate the verification rules that are in use; ours accepts case 3 alone.
TEST_P(Ed25519, EdgeCases) {
  struct Case {
    const char *what, *message, *public_key, *r, *s;
  };
  const Case cases[] = {
      {"0: A and R of small order, S = 0", "8c93255d71dcab10e8f379c26200f3c7bd5f09d9bc3068d3ef4edeb4853022b6",
       "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
       "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
       "0000000000000000000000000000000000000000000000000000000000000000"},
      {"1: A of small order", "9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
       "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
       "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
       "a5bb704786be79fc476f91d3f3f89b03984d8068dcf1bb7dfc6637b45450ac04"},
      {"2: R of small order", "aebf3f2601a0c8c5d39cc7d8911642f740b78168218da8471772b35f9d35b9ab",
       "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
       "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
       "8c4bd45aecaca5b24fb97bc10ac27ac8751a7dfe1baff8b953ec9f5833ca260e"},
      {"3: A and R of mixed order, good with and without cofactor",
       "9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
       "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
       "9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f",
       "87909e14428a7a1d62e9f22f3d3ad7802db02eb2e688b6c52fcd6648a98bd009"},
      {"4: good with the cofactor only", "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
       "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
       "160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed512",
       "5ec6bc982a269b723e0668e540911a9a6a58921d6925e434ab10aa7940551a09"},
      {"5: good with the cofactor only, before the reduction of the hash",
       "e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
       "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d",
       "21122a84e0b5fca4052f5b1235c80a537878b38f3142356b2c2384ebad4668b7",
       "e40bc836dac0f71076f9abe3a53f9c03c1ceeeddb658d0030494ace586687405"},
      {"6: S above L", "85e241a07d148b41e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec40",
       "442aad9f089ad9e14647b1ef9099a1ff4798d78589e66f28eca69c11f582a623",
       "e96f66be976d82e60150baecff9906684aebb1ef181f67a7189ac78ea23b6c0e",
       "547f7690a0e2ddcd04d87dbc3490dc19b3b3052f7ff0538cb68afb369ba3a514"},
      {"7: S far above L", "85e241a07d148b41e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec40",
       "442aad9f089ad9e14647b1ef9099a1ff4798d78589e66f28eca69c11f582a623",
       "8ce5b96c8f26d0ab6c47958c9e68b937104cd36e13c33566acd2fe8d38aa1942",
       "7e71f98a473474f2f13f06f97c20d58cc3f54b8bd0d272f42b695dd7e89a8c22"},
      {"8: R not canonical", "9bedc267423725d473888631ebf45988bad3db83851ee85c85e241a07d148b41",
       "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
       "03be9678ac102edcd92b0210bb34d7428d12ffc5df5f37e359941266a4e35f0f"},
      {"9: R not canonical, hashed as canonical", "9bedc267423725d473888631ebf45988bad3db83851ee85c85e241a07d148b41",
       "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
       "ca8c5b64cd208982aa38d4936621a4775aa233aa0505711d8fdcfdaa943d4908"},
      {"10: A not canonical", "e96b7021eb39c1a163b6da4e3093dcd3f21387da4cc4572be588fafae23c155b",
       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
       "a9d55260f765261eb9b84e106f665e00b867287a761990d7135963ee0a7d59dc",
       "a5bb704786be79fc476f91d3f3f89b03984d8068dcf1bb7dfc6637b45450ac04"},
      {"11: A not canonical, hashed as canonical", "39a591f5321bbe07fd5a23dc2f39d025d74526615746727ceefd6e82ae65c06f",
       "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
       "a9d55260f765261eb9b84e106f665e00b867287a761990d7135963ee0a7d59dc",
       "a5bb704786be79fc476f91d3f3f89b03984d8068dcf1bb7dfc6637b45450ac04"},
      {"R = p, not canonical", "fdaebc429f4a735932a160da1301080c13280eea8bc280d1b392c6b9e6ba3a5a",
       "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
       "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
       "454d370c8d9fc323a41450f8d513eafeb5b0697390c1e505a0d4ddc71f566607"},
      {"R = p, hashed as canonical", "84b698d39be126ff55fe45079e6c8bf64a0d7db6994560b4e96b7021eb39c1a1",
       "f7badec5b8abeaf699583992219b7b223f1df3fbbea919844e3f7c554a43dd43",
       "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
       "084d5b99c2a9463d9c8bd5026916996984eeec87ddf1d3be329006ace1b37b09"}};
  for (const Case& edge : cases) {
    const bool good = Verify(FromHexArray<32>(edge.public_key), *FromHex(edge.message),
                             Join(FromHexArray<32>(edge.r), FromHexArray<32>(edge.s)));
    EXPECT_EQ(good, edge.what[0] == '3') << edge.what;
  }
}

TEST_P(Ed25519, EveryFlippedBitIsRefused) {
  const Signed good;
  ASSERT_TRUE(Verify(good.key, good.message, good.signature));
  for (std::size_t bit = 0; bit < 512; ++bit) {
    Signature signature = good.signature;
    signature[bit / 8] = static_cast<std::uint8_t>(signature[bit / 8] ^ 1u << (bit % 8));
    EXPECT_FALSE(Verify(good.key, good.message, signature)) << bit;
  }
  for (std::size_t bit = 0; bit < 256; ++bit) {
    PublicKey key = good.key;
    key[bit / 8] = static_cast<std::uint8_t>(key[bit / 8] ^ 1u << (bit % 8));
    EXPECT_FALSE(Verify(key, good.message, good.signature)) << bit;
  }
  for (std::size_t bit = 0; bit < 56; ++bit) {
    Bytes message = good.message;
    message[bit / 8] = static_cast<std::uint8_t>(message[bit / 8] ^ 1u << (bit % 8));
    EXPECT_FALSE(Verify(good.key, message, good.signature)) << bit;
  }
}

// S + kL is the same scalar for the curve: a second signature of the same message, if it were accepted.
TEST_P(Ed25519, LargerScalarsAreRefused) {
  const Signed good;
  std::array<std::uint8_t, 33> s{};
  std::copy(good.signature.begin() + 32, good.signature.end(), s.begin());
  const auto order = StoreScalar(kOrder);
  for (int times = 1; times <= 15; ++times) {
    unsigned carry = 0;
    for (std::size_t i = 0; i < 32; ++i) {
      carry += static_cast<unsigned>(s[i]) + order[i];
      s[i] = static_cast<std::uint8_t>(carry);
      carry >>= 8;
    }
    if (carry != 0) break;
    Signature signature = good.signature;
    std::copy_n(s.begin(), 32, signature.begin() + 32);
    EXPECT_FALSE(Verify(good.key, good.message, signature)) << times;
  }
}

TEST_P(Ed25519, MalformedSignaturesAreRefused) {
  const Signed good;
  const auto r = std::span(good.signature).first<32>(), s = std::span(good.signature).last<32>();
  std::array<std::uint8_t, 32> own_r{}, own_s{}, zero{}, ones{};
  std::copy(r.begin(), r.end(), own_r.begin());
  std::copy(s.begin(), s.end(), own_s.begin());
  ones.fill(0xff);
  const std::array<std::uint8_t, 32> order = StoreScalar(kOrder);
  for (const Signature& signature : {Signature{}, Join(own_r, zero), Join(zero, own_s), Join(own_r, ones), Join(ones, own_s),
                                     Join(own_r, order), Join(own_s, own_r), Join(own_r, own_r), Join(own_s, own_s)}) {
    EXPECT_FALSE(Verify(good.key, good.message, signature)) << Hex(signature);
  }
  for (const char* small : kSmallOrder) {
    EXPECT_FALSE(Verify(good.key, good.message, Join(FromHexArray<32>(small), own_s)));
    EXPECT_FALSE(Verify(FromHexArray<32>(small), good.message, good.signature));
    EXPECT_FALSE(Verify(FromHexArray<32>(small), good.message, Join(FromHexArray<32>(small), zero)));
  }
  // Another key's, and one of the negative key: -A verifies with -R where S is negated too, which is another message's challenge.
  EXPECT_FALSE(Verify(DerivePublicKey(Random<32>(8)), good.message, good.signature));
  PublicKey negated = good.key;
  negated[31] ^= 0x80;
  EXPECT_TRUE(IsUsable(negated));
  EXPECT_FALSE(Verify(negated, good.message, good.signature));
}

// Where libsodium is linked, these compare it with ours.
TEST(Ed25519Both, SignAlike) {
  for (std::uint32_t number = 0; number < 300; ++number) {
    const Seed seed = Random<32>(1000 + number);
    const Bytes message(number, static_cast<std::uint8_t>(number));
    const PublicKey key = DerivePublicKey(seed);
    ASSERT_EQ(own::DerivePublicKey(seed), key) << number;
    const Signature expected = Sign(seed, key, message);
    ASSERT_EQ(own::Sign(seed, key, message), expected) << number;
    ASSERT_TRUE(own::Verify(key, message, expected)) << number;
  }
}

// Keys and nonces with small-order parts added, which a holder of the key can make: the rule has to decide.
TEST(Ed25519Both, JudgeMixedOrdersAlike) {
  int accepted = 0;
  for (std::uint32_t number = 0; number < 600; ++number) {
    const auto random = Random<32>(5000 + number);
    const Point torsion_a = *DecodePoint(FromHexArray<32>(kSmallOrder[random[0] % kCanonicalSmallOrder]));
    const Point torsion_r = *DecodePoint(FromHexArray<32>(kSmallOrder[random[1] % kCanonicalSmallOrder]));
    const Scalar secret = {random[2], random[3], 0, random[4]}, nonce = {random[5], random[6] % 2u, 0, 0};
    const PublicKey key = Encode(Add(Multiply(secret, BasePoint()), torsion_a));
    const std::array<std::uint8_t, 32> r = Encode(Add(Multiply(nonce, BasePoint()), torsion_r));
    const Bytes message(random[7] % 4u, random[8]);
    Sha512 hash;
    const Scalar challenge = ReduceHash(hash.Update(r).Update(key).Update(message).Finish());
    const Signature signature = Join(r, StoreScalar(MultiplyAdd(secret, challenge, nonce)));
    const bool good = own::Verify(key, message, signature);
    EXPECT_EQ(good, Verify(key, message, signature)) << number;
    accepted += good ? 1 : 0;
  }
  EXPECT_GT(accepted, 30);  // one in eight has torsion parts that cancel
  EXPECT_LT(accepted, 300);
}

}  // namespace
}  // namespace assay::ed25519
