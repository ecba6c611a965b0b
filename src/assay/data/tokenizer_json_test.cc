#include "assay/data/tokenizer_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/base/bytes.h"
#include "assay/base/file.h"
#include "support/scratch.h"

namespace assay {
namespace {

using Ids = std::vector<std::uint16_t>;
using Json = nlohmann::json;

// Files and vectors from scripts/bpe_reference.py.
std::string Read(const std::string& name) {
  const auto path =
      (std::filesystem::path(__FILE__).parent_path() / "../../../tests/vectors/tokenizer_json" / name).lexically_normal();
  const auto bytes = ReadFile(path.string(), 1 << 20);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return {bytes->begin(), bytes->end()};
}

std::shared_ptr<const ByteLevelBpe> Parse(const std::string& text, bool special = false) {
  const auto tokenizer = ParseTokenizerJson(text, "t", special);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

class Published : public testing::TestWithParam<std::string> {};

TEST_P(Published, EqualsTheReference) {
  const std::string file = Read(GetParam() + ".json");
  const auto plain = Parse(file), special = Parse(file, true);
  std::istringstream cases(Read(GetParam() + ".txt"));
  int count = 0;
  for (std::string line; std::getline(cases, line); ++count) {
    std::istringstream in(line);
    std::string kind, hex;
    in >> kind >> hex;
    const Bytes bytes = hex == "-" ? Bytes{} : FromHex(hex).value();
    const std::string text(bytes.begin(), bytes.end());
    Ids expected;
    for (int id; in >> id;) expected.push_back(static_cast<std::uint16_t>(id));
    const auto& tokenizer = kind == "special" ? special : plain;
    EXPECT_EQ(tokenizer->Encode(text).value(), expected) << kind << " " << text;
    if (GetParam() != "gpt2_space") {
      EXPECT_EQ(tokenizer->Decode(expected), text);
    }
  }
  EXPECT_GT(count, 150);
}

TEST_P(Published, AnyBytesSurvive) {
  const auto tokenizer = Parse(Read(GetParam() + ".json"), true);
  std::string text = " ";
  for (int i = 0; i < 4096; ++i) text.push_back(static_cast<char>((i * 7919) >> 3));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text).value()), text);
  text = std::string(1 << 20, 'e');
  EXPECT_TRUE(tokenizer->Decode(tokenizer->Encode(text).value()).ends_with(text)) << "and long words take no quadratic time";
}

INSTANTIATE_TEST_SUITE_P(TokenizerJson, Published, testing::Values("gpt2", "gpt2_space", "llama3", "qwen2", "digits"));

TEST(TokenizerJson, SpecialTokensAreTextUnlessAskedFor) {
  const std::string file = Read("llama3.json");
  const auto plain = Parse(file), special = Parse(file, true);
  EXPECT_GT(plain->Encode("<|end|>").value().size(), 1u);
  EXPECT_EQ(special->Encode("<|end|>").value().size(), 1u);
  EXPECT_EQ(plain->vocabulary(), special->vocabulary());
  EXPECT_EQ(plain->vocabulary(), 256 + 120 + 1 + 4);
}

// Merges of a list that nobody trained: a token that two pairs make, and one pair that an earlier place has changed.
TEST(TokenizerJson, AnyListOfMerges) {
  Json json = Json::parse(Read("qwen2.json"));
  Json& vocabulary = json["model"]["vocab"];
  vocabulary.clear();
  for (int b = 0, hidden = 256; b < 256; ++b) {
    const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    const int c = shown ? b : hidden++;
    const std::string utf8 = c < 0x80 ? std::string(1, static_cast<char>(c))
                                      : std::string{static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    vocabulary[utf8] = b;
  }
  vocabulary["ab"] = 256;
  vocabulary["bc"] = 257;
  vocabulary["abc"] = 258;
  json["added_tokens"] = Json::array();
  json["model"]["merges"] = {"a bc", "b c", "a b", "ab c"};
  EXPECT_EQ(Parse(json.dump())->Encode("abc").value(), Ids{258});
  json["model"]["merges"] = {"a b", "b c", "a bc"};
  EXPECT_EQ(Parse(json.dump())->Encode("abc").value(), (Ids{256, 'c'}));
  json["model"]["merges"] = {"b c", "a b", "ab c", "a bc"};
  EXPECT_EQ(Parse(json.dump())->Encode("abcab").value(), (Ids{258, 256}));
}

std::string Refusal(const std::string& name, const std::function<void(Json&)>& edit, bool special = false) {
  Json json = Json::parse(Read(name));
  edit(json);
  const auto tokenizer = ParseTokenizerJson(json.dump(), "t", special);
  return tokenizer ? "accepted" : tokenizer.error().message;
}

TEST(TokenizerJson, RefusesWhatWouldChangeTokensByItsName) {
  const auto gpt2 = [](const std::function<void(Json&)>& edit) { return Refusal("gpt2.json", edit); };
  EXPECT_EQ(gpt2([](Json&) {}), "accepted");
  EXPECT_EQ(gpt2([](Json& j) { j["normalizer"] = {{"type", "NFC"}}; }), "t: normalizer: expected null, got 'NFC'");
  EXPECT_EQ(gpt2([](Json& j) { j["normalizer"] = {{"x", 1}}; }), "t: normalizer: expected null, got an object");
  EXPECT_EQ(gpt2([](Json& j) { j["truncation"] = {{"max_length", 9}}; }), "t: truncation: expected null, got an object");
  EXPECT_EQ(gpt2([](Json& j) { j["padding"] = true; }), "t: padding: expected null, got true");
  EXPECT_EQ(gpt2([](Json& j) { j["stride"] = 1; }), "t: stride: is not known here");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["type"] = "Unigram"; }), "t: model.type: expected BPE, got 'Unigram'");
  EXPECT_EQ(gpt2([](Json& j) { j["model"].erase("type"); }), "accepted");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["dropout"] = 0.1; }), "t: model.dropout: expected null, got 0.1");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["byte_fallback"] = true; }), "t: model.byte_fallback: expected false, got true");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }),
            "t: model.end_of_word_suffix: expected null or an empty string, got '</w>'");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["cache"] = 1; }), "t: model.cache: is not known here");
  EXPECT_EQ(gpt2([](Json& j) { j["pre_tokenizer"] = nullptr; }), "t: pre_tokenizer: expected ByteLevel, got nothing");
  EXPECT_EQ(gpt2([](Json& j) { j["pre_tokenizer"]["type"] = "Metaspace"; }),
            "t: pre_tokenizer.type: expected ByteLevel, got 'Metaspace'");
  EXPECT_EQ(gpt2([](Json& j) { j["pre_tokenizer"]["words"] = 1; }), "t: pre_tokenizer.words: is not known here");
  const auto llama3 = [](const std::function<void(Json&)>& edit) {
    return Refusal("llama3.json", [&](Json& j) { edit(j["pre_tokenizer"]["pretokenizers"]); });
  };
  EXPECT_EQ(llama3([](Json& steps) { steps[0]["pattern"] = {{"Regex", "\\s+"}}; }),
            "t: pre_tokenizer.pretokenizers[0].pattern: expected the pattern of GPT-2, Llama 3 or Qwen2, got '\\s+'");
  EXPECT_EQ(llama3([](Json& steps) { steps[0]["pattern"] = {{"String", " "}}; }),
            "t: pre_tokenizer.pretokenizers[0].pattern: expected a Regex, got an object");
  EXPECT_EQ(llama3([](Json& steps) { steps[0]["behavior"] = "MergedWithNext"; }),
            "t: pre_tokenizer.pretokenizers[0].behavior: expected Isolated, got 'MergedWithNext'");
  EXPECT_EQ(llama3([](Json& steps) { steps[0]["invert"] = true; }),
            "t: pre_tokenizer.pretokenizers[0].behavior: expected Removed, got 'Isolated'");
  EXPECT_EQ(llama3([](Json& steps) { steps[1]["add_prefix_space"] = true; }),
            "t: pre_tokenizer.pretokenizers[1].add_prefix_space: expected false after other pre-tokenizers, got true");
  EXPECT_EQ(llama3([](Json& steps) { steps.erase(1); }),
            "t: pre_tokenizer.pretokenizers[0].type: expected ByteLevel, got 'Split'");
  EXPECT_EQ(llama3([](Json& steps) { steps = Json::array(); }),
            "t: pre_tokenizer.pretokenizers: expected a list of 1 .. 4, got a list");
}

TEST(TokenizerJson, RefusesHostileVocabularies) {
  const auto gpt2 = [](const std::function<void(Json&)>& edit) { return Refusal("gpt2.json", edit); };
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["vocab"]["!"] = 65536; }),
            "t: model.vocab: token '!': expected a number in 0 .. 65535, as tokens have 16 bits here, got 65536");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["vocab"]["!"] = -1; }),
            "t: model.vocab: token '!': expected a number in 0 .. 65535, as tokens have 16 bits here, got -1");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["vocab"]["~"] = 33; }),
            "t: model.vocab: token '~': expected a number of its own, got 33");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["vocab"]["a b"] = 999; }),
            "t: model.vocab: token 'a b': does not spell bytes in GPT-2's alphabet");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["vocab"].erase("!"); }), "t: expected a token for every single byte, 0x21 has none");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["vocab"] = Json::array(); }),
            "t: model.vocab: expected an object of tokens and numbers, got a list");
  EXPECT_EQ(gpt2([](Json& j) {
              for (int i = 0; i < 65536; ++i) j["model"]["vocab"][fmt::format("x{}", i)] = i;
            }),
            "t: model.vocab: expected at most 65536 tokens, as tokens have 16 bits here, got 65913");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["merges"][0] = "a"; }), "t: model.merges[0]: expected two tokens, got '\"a\"'");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["merges"][1] = {"a", 1}; }),
            "t: model.merges[1]: expected two tokens, got '[\"a\",1]'");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["merges"][1] = "a zzz"; }),
            "t: model.merges[1]: expected two tokens of model.vocab, got '\"a zzz\"'");
  EXPECT_EQ(gpt2([](Json& j) { j["model"]["merges"][1] = "! ~"; }),
            "t: model.merges[1]: expected two tokens whose sum is one of model.vocab, got '\"! ~\"'");
  EXPECT_TRUE(gpt2([](Json& j) {
                j["model"]["merges"][1] = j["model"]["merges"][0];
              }).starts_with("t: model.merges[1]: expected a merge that is there once"));
  EXPECT_EQ(gpt2([](Json& j) { j["added_tokens"][0]["id"] = 5; }),
            "t: added_tokens[0].id: expected 376, as in model.vocab, got 5");
  EXPECT_EQ(gpt2([](Json& j) { j["added_tokens"][1]["id"] = 5; }),
            "t: added_tokens[1].id: expected a number of its own, got 5");
  EXPECT_EQ(gpt2([](Json& j) { j["added_tokens"][1]["content"] = ""; }),
            "t: added_tokens[1].content: expected a text of 1 .. 256 bytes, got ''");
  EXPECT_EQ(gpt2([](Json& j) { j["added_tokens"][1]["content"] = j["added_tokens"][2]["content"]; }),
            "t: added_tokens[2].content: expected a text that no other added token has, got '<|end|>\\x0a'");
  EXPECT_EQ(gpt2([](Json& j) { j["added_tokens"][1] = 7; }), "t: added_tokens[1]: expected an object, got 7");
  const auto strips = [](Json& j) { j["added_tokens"][1]["lstrip"] = true; };
  EXPECT_EQ(Refusal("gpt2.json", strips), "accepted") << "where they are not looked for, how does not matter";
  EXPECT_EQ(Refusal("gpt2.json", strips, true), "t: added_tokens[1].lstrip: expected false, got true");
  EXPECT_FALSE(ParseTokenizerJson("", "t", false));
  EXPECT_EQ(ParseTokenizerJson("{}", "t", false).error().message, "t: pre_tokenizer: expected ByteLevel, got nothing");
}

TEST(TokenizerJson, WhichFilesOfAFolder) {
  const testkit::Scratch scratch;
  Allowance everything;
  const auto refusal = [&](bool special) { return OpenVocabulary(scratch.path(), special, everything).error().message; };
  EXPECT_EQ(refusal(false), scratch.path() + ": expected a folder with encoder.json and vocab.bpe, or with tokenizer.json");
  ASSERT_TRUE(WriteFileAtomic(scratch / "tokenizer.json", AsBytes(Read("digits.json"))));
  ASSERT_TRUE(OpenVocabulary(scratch.path(), true, everything));
  EXPECT_EQ(VocabularyFiles(scratch.path()), std::vector<std::string>{"tokenizer.json"});
  ASSERT_TRUE(WriteFileAtomic(scratch / "encoder.json", AsBytes("{}")));
  EXPECT_EQ(refusal(true),
            "data.special_tokens: " + scratch.path() + " has encoder.json, which names none; expected tokenizer.json");
  EXPECT_EQ(VocabularyFiles(scratch.path()), (std::vector<std::string>{"encoder.json", "vocab.bpe"}));
}

}  // namespace
}  // namespace assay
