#include "assay/seal/bech32.h"

#include <gtest/gtest.h>

namespace assay::seal {
namespace {

// From BIP 173, of those whose data are whole bytes.
TEST(Bech32, PublishedTexts) {
  const auto empty = FromBech32("A12UEL5L");
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->prefix, "A");
  EXPECT_TRUE(empty->data.empty());
  const auto lower = FromBech32("a12uel5l");
  ASSERT_TRUE(lower);
  EXPECT_EQ(lower->prefix, "a");
  const auto split = FromBech32("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w");
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(Hex(split->data), "c5f38b70305f519bf66d85fb6cf03058f3dde463ecd7918f2dc743918f2d");
  EXPECT_EQ(ToBech32("split", split->data), "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w");
}

TEST(Bech32, AnyBytesComeBack) {
  Bytes data;
  for (int size = 0; size < 100; ++size) {
    const std::string text = ToBech32("age-secret-key-", data);
    const auto back = FromBech32(text);
    ASSERT_TRUE(back) << text << ": " << back.error().message;
    EXPECT_EQ(back->data, data);
    EXPECT_EQ(back->prefix, "age-secret-key-");
    data.push_back(static_cast<std::uint8_t>(size * 37));
  }
}

TEST(Bech32, EveryCharacterCounts) {
  const std::string text = ToBech32("age", Bytes(32, 7));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int c = 0; c < 256; ++c) {
      std::string other = text;
      other[i] = static_cast<char>(c);
      EXPECT_TRUE(other == text || !FromBech32(other)) << i << " " << c;
    }
    EXPECT_FALSE(FromBech32(text.substr(0, i))) << i;
  }
}

TEST(Bech32, ErrorsSayWhatIsWrong) {
  const auto error = [](std::string_view text) { return FromBech32(text).error().message; };
  EXPECT_EQ(error("A12uEL5L"), "it mixes lower and upper case");
  EXPECT_EQ(error("pzry9x0s0muk"), "it has no prefix that '1' ends");
  EXPECT_EQ(error("1pzry9x0s0muk"), "it has no prefix that '1' ends");
  EXPECT_EQ(error("a b12uel5l"), "its prefix is not of visible ASCII characters");
  EXPECT_EQ(error("li1dgmt3"), "it ends before its checksum");
  EXPECT_EQ(error("x1b4n0q5v"), "character 3 is none of Bech32's");
  EXPECT_EQ(error("A1G7SGD8"), "its checksum does not fit: a character is wrong or missing");
  // Good checksums over groups of five bits that are no bytes: too few, padding that is not zero, padding of a whole group.
  for (const std::string_view text : {"age1qdd35qf", "age1qpu0j2ex", "age1qqqyst3gn"}) {
    EXPECT_EQ(error(text), "its last character holds bits that belong to no byte") << text;
  }
}

}  // namespace
}  // namespace assay::seal
