#include "assay/seal/armor.h"

#include <gtest/gtest.h>

#include "assay/base/base64.h"
#include "support/seal_trial.h"

namespace assay::seal {
namespace {

const std::string kBegin = "-----BEGIN AGE ENCRYPTED FILE-----\n";
const std::string kEnd = "-----END AGE ENCRYPTED FILE-----\n";

std::string Lines(ByteSpan bytes, std::string_view end = "\n") {
  const std::string digits = Base64(bytes);
  std::string out;
  for (std::size_t at = 0; at < digits.size(); at += 64) out.append(digits, at, 64).append(end);
  return out;
}
std::string Armored(ByteSpan bytes) { return kBegin + Lines(bytes) + kEnd; }

Result<Bytes> Inside(std::string_view text, std::size_t step = 1000) {
  const ByteSource source = Dearmored(BufferedSource(SpanSource(AsBytes(text), step)), "x");
  Bytes out;
  std::uint8_t piece[31];
  while (true) {
    ASSAY_ASSIGN(const std::size_t got, source(piece));
    if (got == 0) return out;
    out.insert(out.end(), piece, piece + got);
  }
}

TEST(Armor, AnyBytesComeBack) {
  for (std::size_t size = 0; size < 200; ++size) {
    const Bytes bytes = Pattern(size);
    for (const std::size_t step : {1u, 1000u}) {
      const auto back = Inside(Armored(bytes), step);
      ASSERT_TRUE(back) << size << ": " << back.error().message;
      EXPECT_EQ(*back, bytes);
    }
  }
}

TEST(Armor, WhiteSpaceAroundItAndLineEnds) {
  const Bytes bytes = Pattern(100);
  const std::string text = Armored(bytes);
  EXPECT_EQ(*Inside("\n\r \t\n" + text + "\n\r  \t\n"), bytes);
  EXPECT_EQ(*Inside(text.substr(0, text.size() - 1)), bytes);
  EXPECT_EQ(*Inside(kBegin.substr(0, kBegin.size() - 1) + "\r\n" + Lines(bytes, "\r\n") + kEnd), bytes);
  EXPECT_EQ(ErrorOf(Inside(std::string(2000, ' ') + text)), "x: armor: more than 1024 bytes of white space");
  EXPECT_EQ(ErrorOf(Inside(text + std::string(2000, '\n'))), "x: armor: more than 1024 bytes of white space");
}

TEST(Armor, HasOneForm) {
  const Bytes bytes = Pattern(100);
  const std::string text = Lines(bytes), first = text.substr(0, 65), rest = text.substr(65);
  const std::string columns = "x: armor: line 2: expected 64 columns of base64 or the end of it";
  EXPECT_EQ(ErrorOf(Inside(kBegin + "\n" + text + kEnd)), columns);              // an empty line first
  EXPECT_EQ(ErrorOf(Inside(kBegin + "Version: 1\n\n" + text + kEnd)), columns);  // PEM's headers
  EXPECT_EQ(ErrorOf(Inside(kBegin + " " + text + kEnd)), columns);               // white space
  EXPECT_EQ(ErrorOf(Inside(kBegin + first.substr(0, 64) + " \n" + rest + kEnd)), columns);
  EXPECT_EQ(ErrorOf(Inside(kBegin + first.substr(0, 64) + "\r\r\n" + rest + kEnd)), columns);
  EXPECT_EQ(ErrorOf(Inside(kBegin + first.substr(0, 64) + rest + kEnd)), columns);             // a long line
  EXPECT_FALSE(Inside(kBegin + first.substr(0, 60) + "\n" + first.substr(60) + rest + kEnd));  // a short one
  EXPECT_FALSE(Inside(kBegin + text + "\n" + kEnd));                                           // an empty line last
  EXPECT_FALSE(Inside(kBegin + "AAA\n" + kEnd));                                               // padding is missing
  EXPECT_FALSE(Inside(kBegin + "AAB=\n" + kEnd));                                              // and not canonical
  EXPECT_FALSE(Inside(kBegin + "AA=\n=\n" + kEnd));
  EXPECT_FALSE(Inside(kBegin + "AA==\nAAAA\n" + kEnd));
  EXPECT_EQ(ErrorOf(Inside(kBegin + text + kEnd + "x")), "x: armor: bytes follow its end");
  EXPECT_EQ(ErrorOf(Inside("-----BEGIN MESSAGE-----\n" + text + kEnd)),
            "x: is no sealed file: expected age-encryption.org/v1 or -----BEGIN AGE ENCRYPTED FILE-----");
}

TEST(Armor, TruncationIsSeen) {
  const std::string text = Armored(Pattern(100));
  for (std::size_t size = 0; size + 1 < text.size(); ++size) EXPECT_FALSE(Inside(text.substr(0, size))) << size;
}

using ArmoredFile = SealTrial;

TEST_F(ArmoredFile, Opens) {
  const auto to = KnownIdentities(0x42);
  const Bytes plain = Pattern(70000);
  const std::string text = "\n" + Armored(Sealed(plain, to));
  const auto opened = Opened(AsBytes(text), to);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, plain);
  // Bytes after the end are seen although the payload is whole.
  EXPECT_EQ(ErrorOf(Opened(AsBytes(text + "x"), to)), "x.age: armor: bytes follow its end");
  EXPECT_FALSE(Opened(AsBytes(text.substr(0, text.size() - kEnd.size())), to));
}

}  // namespace
}  // namespace assay::seal
