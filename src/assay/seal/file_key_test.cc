#include "assay/seal/file_key.h"

#include <gtest/gtest.h>

#include "support/seal_trial.h"

namespace assay::seal {
namespace {

class FileKeys : public SealTrial {
 protected:
  Stanza For(std::uint8_t byte) { return *WrapFileKey(key_, Known(byte).recipient(), SystemRandomness); }
  std::string Refused(const std::vector<Stanza>& stanzas) {
    return ErrorOf(UnwrapFileKey(stanzas, KnownIdentities(0x42), "x"));
  }
  bool Unwraps(const std::vector<Stanza>& stanzas) {
    const auto key = UnwrapFileKey(stanzas, KnownIdentities(0x42), "x");
    return key && key->bytes() == key_.bytes();
  }
  FileKey key_{std::array<std::uint8_t, 16>{1, 2, 3, 4, 5}};
};

TEST_F(FileKeys, AnyOfTheRecipientsUnwraps) {
  const std::vector<Stanza> stanzas = {For(1), For(2), For(3)};
  for (const int byte : {1, 2, 3}) {
    const auto key = UnwrapFileKey(stanzas, KnownIdentities(9, byte, 8), "x");
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->bytes(), key_.bytes());
  }
  EXPECT_EQ(ErrorOf(UnwrapFileKey(stanzas, KnownIdentities(8, 9), "x")), "x: is sealed to none of the 2 identities");
  EXPECT_EQ(ErrorOf(UnwrapFileKey(stanzas, {}, "x")), "x: is sealed to none of the 0 identities");
  EXPECT_EQ(Refused(stanzas), "x: is not sealed to age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj");
}

TEST_F(FileKeys, OtherKindsArePassedOver) {
  const Stanza grease{{"j%-grease", "a", "b"}, Pattern(70)}, lower{{"x25519", "a"}, {}};
  EXPECT_TRUE(Unwraps({grease, For(0x42), lower}));
  EXPECT_NE(Refused({grease, lower}).find("is not sealed to"), std::string::npos);
}

// A passphrase vouches for who sealed, which a second way to the key would undo.
TEST_F(FileKeys, APassphraseIsAlone) {
  const Stanza scrypt{{"scrypt", "AAAAAAAAAAAAAAAAAAAAAA", "18"}, Bytes(32)};
  EXPECT_EQ(Refused({scrypt}), "x: is sealed with a passphrase, expected recipients");
  const std::string mixed = "x: header: has a passphrase (scrypt) beside other recipients, which the format forbids";
  EXPECT_EQ(Refused({For(0x42), scrypt}), mixed);
  EXPECT_EQ(Refused({scrypt, For(0x42)}), mixed);
  EXPECT_EQ(Refused({scrypt, scrypt}), mixed);
}

// Also where another stanza would open the file.
TEST_F(FileKeys, StanzasOfOurKindHaveItsForm) {
  const auto with = [&](void (*change)(Stanza&)) {
    Stanza stanza = For(1);
    change(stanza);
    return Refused({For(0x42), stanza});
  };
  EXPECT_EQ(with([](Stanza& s) { s.arguments.push_back("more"); }),
            "x: header: stanza 2: expected one argument after X25519, got 2");
  EXPECT_EQ(with([](Stanza& s) { s.arguments.pop_back(); }), "x: header: stanza 2: expected one argument after X25519, got 0");
  EXPECT_EQ(with([](Stanza& s) { s.arguments[1] = "AAAA"; }),
            "x: header: stanza 2: expected a share of 32 bytes in base64, got 'AAAA'");
  EXPECT_NE(with([](Stanza& s) { s.arguments[1] += "="; }).find("expected a share of 32 bytes in base64"), std::string::npos);
  EXPECT_NE(with([](Stanza& s) { s.arguments[1].back() = 'B'; }).find("expected a share of 32 bytes"), std::string::npos);
  EXPECT_EQ(with([](Stanza& s) { s.body.push_back(0); }), "x: header: stanza 2: expected a wrapped key of 32 bytes, got 33");
  EXPECT_EQ(with([](Stanza& s) { s.body.pop_back(); }), "x: header: stanza 2: expected a wrapped key of 32 bytes, got 31");
}

TEST_F(FileKeys, SharesOfSmallOrderAreRefused) {
  for (const Point& share : {Point{0}, Point{1}}) {
    Stanza stanza = For(1);
    stanza.arguments[1] = RawBase64(share);
    EXPECT_EQ(Refused({stanza, For(0x42)}), "x: header: stanza 1: its share is a point of small order");
  }
}

TEST_F(FileKeys, RecipientsOfSmallOrderAreRefused) {
  EXPECT_EQ(
      ErrorOf(WrapFileKey(key_, Recipient(Point{}), SystemRandomness)),
      "recipient age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z: is a point of small order, which keeps no "
      "secret");
}

TEST_F(FileKeys, EveryStanzaHasAShareOfItsOwn) { EXPECT_NE(For(1).arguments[1], For(1).arguments[1]); }

}  // namespace
}  // namespace assay::seal
