#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/base/bytes.h"
#include "assay/data/bpe.h"
#include "assay/data/chars.h"
#include "assay/data/unicode.h"

namespace assay {
namespace {

using Ids = std::vector<std::uint16_t>;

// Vectors from scripts/bpe_reference.py.
std::string VectorFolder() {
  return (std::filesystem::path(__FILE__).parent_path() / "../../../tests/vectors/bpe").lexically_normal().string();
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

Result<std::shared_ptr<const BpeTokenizer>> OpenBpe(const std::string& folder) {
  Allowance everything;
  return BpeTokenizer::Open(folder, everything);
}

TEST(CharTokenizer, NumbersDistinctBytesInAscendingOrder) {
  const auto t = CharTokenizer::FromText("hello\n");
  EXPECT_EQ(t->vocabulary(), 5);  // \n e h l o
  EXPECT_EQ(t->Encode("hello\n").value(), (Ids{2, 1, 3, 3, 4, 0}));
  EXPECT_EQ(t->Decode(Ids{2, 1, 3, 3, 4, 900}), "hello");
  const auto bad = t->Encode("help");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "byte 0x70 at position 3 is not in the text's vocabulary of 5 characters");
}

TEST(Unicode, DecodesValidSequencesAndNothingElse) {
  EXPECT_EQ(DecodeUtf8("a").value, 0x61u);
  EXPECT_EQ(DecodeUtf8("\xc3\xa9").value, 0xe9u);
  EXPECT_EQ(DecodeUtf8("\xe2\x82\xac").value, 0x20acu);
  EXPECT_EQ(DecodeUtf8("\xf0\x9f\x99\x82").length, 4u);
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc3", "\xed\xa0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(DecodeUtf8(bad).value, 0xfffdu) << bad;
    EXPECT_EQ(DecodeUtf8(bad).length, 1u) << bad;
  }
}

TEST(Unicode, Classes) {
  EXPECT_EQ(Classify('a'), CharClass::kLetter);
  EXPECT_EQ(Classify(0x65e5), CharClass::kLetter);
  EXPECT_EQ(Classify('7'), CharClass::kNumber);
  EXPECT_EQ(Classify(0xbd), CharClass::kNumber);
  EXPECT_EQ(Classify(0x3000), CharClass::kSpace);
  EXPECT_EQ(Classify(0x1c), CharClass::kOther);
  EXPECT_EQ(Classify('.'), CharClass::kOther);
  EXPECT_EQ(Classify(0x10ffff), CharClass::kOther);
}

TEST(Bpe, EqualsTheReferenceEncoder) {
  const auto t = OpenBpe(VectorFolder());
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ((*t)->vocabulary(), 556);
  std::istringstream cases(ReadAll(VectorFolder() + "/cases.txt"));
  int count = 0;
  for (std::string line; std::getline(cases, line); ++count) {
    std::istringstream in(line);
    std::string hex;
    in >> hex;
    const Bytes bytes = hex == "-" ? Bytes{} : FromHex(hex).value();
    const std::string text(bytes.begin(), bytes.end());
    Ids expected;
    for (int id; in >> id;) expected.push_back(static_cast<std::uint16_t>(id));
    EXPECT_EQ((*t)->Encode(text).value(), expected) << hex;
    EXPECT_EQ((*t)->Decode(expected), text);
  }
  EXPECT_GT(count, 70);
}

TEST(Bpe, AnyBytesSurvive) {
  const auto t = OpenBpe(VectorFolder()).value();
  std::string text;
  for (int i = 0; i < 4096; ++i) text.push_back(static_cast<char>((i * 7919) >> 3));
  EXPECT_EQ(t->Decode(t->Encode(text).value()), text);
}

TEST(Bpe, LongWordsTakeNoQuadraticTime) {
  const auto t = OpenBpe(VectorFolder()).value();
  const std::string text(1 << 20, 'e');
  EXPECT_EQ(t->Decode(t->Encode(text).value()).size(), text.size());
}

// A vocabulary of all bytes and, as tokens 256 and 257, "ab" and "abc".
std::string Encoder(const std::string& extra = R"(,"ab":256,"abc":257)") {
  std::string out = "{";
  int next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    out += fmt::format("{}\"\\u{:04x}\":{}", b == 0 ? "" : ",", shown ? b : next++, b);
  }
  return out + extra + "}";
}

std::string Refusal(const std::string& encoder, const std::string& merges) {
  const auto t = BpeTokenizer::Parse(encoder, "e", merges, "m");
  return t ? "accepted" : t.error().message;
}

TEST(Bpe, RefusesHostileVocabularies) {
  EXPECT_EQ(Refusal(Encoder(), "#version: 0.2\na b\nab c\n"), "accepted");
  EXPECT_EQ(Refusal("{", ""), "e: expected a JSON object of tokens and their numbers");
  EXPECT_EQ(Refusal("[1]", ""), "e: expected a JSON object of tokens and their numbers");
  EXPECT_EQ(Refusal("{}", ""), "e: expected 1 .. 65536 tokens, got 0");
  EXPECT_EQ(Refusal(R"({"a":0})", ""), "e: expected a token for every single byte, 0x00 has none");
  EXPECT_EQ(Refusal(R"({"a":-1})", ""), "e: token 'a': expected a number of its own in 0 .. 0");
  EXPECT_EQ(Refusal(R"({"a":[[1]]})", ""), "e: token 'a': expected a number of its own in 0 .. 0");
  EXPECT_EQ(Refusal(Encoder(R"(,"ab":255)"), ""), "e: token '\\xc3\\xbf': expected a number of its own in 0 .. 256");
  EXPECT_EQ(Refusal(Encoder(R"(,"a b":256)"), ""), "e: token 'a b' does not spell bytes in GPT-2's alphabet");
  EXPECT_EQ(Refusal(Encoder(), "ab\n"), "m:1: expected two tokens with a space between them");
  EXPECT_EQ(Refusal(Encoder(), "a b\na b c\n"), "m:2: expected two tokens with a space between them");
  EXPECT_EQ(Refusal(Encoder(), "a xyz\n"), "m:1: a token is not in encoder.json");
  EXPECT_EQ(Refusal(Encoder(), "b a\n"), "m:1: the merged token is not in encoder.json");
  EXPECT_EQ(Refusal(Encoder(), "ab c\n"), "m:1: a merge of a token that no earlier line makes");
  EXPECT_EQ(Refusal(Encoder(), "a b\na b\n"), "m:2: a token that an earlier line makes already");
  EXPECT_FALSE(OpenBpe("/nonexistent"));
}

}  // namespace
}  // namespace assay
