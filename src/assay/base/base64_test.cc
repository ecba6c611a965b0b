#include "assay/base/base64.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// RFC 4648, section 10.
TEST(Base64, PublishedVectors) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : vectors) {
    EXPECT_EQ(Base64(AsBytes(plain)), encoded);
    const auto decoded = FromBase64(encoded);
    ASSERT_TRUE(decoded) << encoded;
    EXPECT_EQ(std::string(decoded->begin(), decoded->end()), plain);
  }
  EXPECT_EQ(Base64(Bytes{0xfb, 0xff, 0xbf}), "+/+/");
}

TEST(Base64, EveryLengthAndByteComesBack) {
  for (std::size_t size = 0; size <= 300; ++size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 151 + size);
    const auto decoded = FromBase64(Base64(bytes));
    ASSERT_TRUE(decoded) << size;
    EXPECT_EQ(*decoded, bytes);
  }
}

// Every text of four characters, out of an alphabet that has all kinds of them, is refused or is what encoding gives.
TEST(Base64, OneTextForEachValue) {
  constexpr std::string_view kAlphabet = "AQgw/+9_-= \n\xff";
  for (std::size_t n = 0; n < 13 * 13 * 13 * 13; ++n) {
    std::string text(4, ' ');
    for (std::size_t k = 0, rest = n; k < 4; ++k, rest /= 13) text[k] = kAlphabet[rest % 13];
    const auto decoded = FromBase64(text);
    EXPECT_TRUE(!decoded || Base64(*decoded) == text) << text;
    const bool digits = text.find_first_of("_-= \n\xff") == std::string::npos;
    EXPECT_TRUE(decoded || !digits) << text;
  }
}

TEST(Base64, MalformedTextsAreRefused) {
  for (const char* text : {"A", "AA", "AAA", "AAAAA", "A===", "====", "=AAA", "AA=A", "AA==AAAA", "AAA=AAAA",
                           "AB==", "AAB=", "AA==\n", "AA ==", "AAA-", "AAA_"}) {
    EXPECT_FALSE(FromBase64(text)) << text;
  }
}

}  // namespace
}  // namespace assay
