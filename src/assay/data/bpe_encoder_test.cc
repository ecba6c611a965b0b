// The fast encoder against a plain one that was written from the definition and shares nothing with it but the classes of characters.
#include "assay/data/bpe_encoder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "assay/data/bpe.h"

namespace assay {
namespace {

using Ids = std::vector<std::uint16_t>;

std::string VectorFolder() {
  return (std::filesystem::path(__FILE__).parent_path() / "../../../tests/vectors/bpe").lexically_normal().string();
}

std::size_t PlainFirstWord(std::string_view text) {
  for (std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  const auto run = [&](std::size_t begin, CharClass wanted, std::size_t& last) {
    std::size_t at = begin;
    while (at < text.size()) {
      const CodePoint c = DecodeUtf8(text.substr(at));
      if (Classify(c.value) != wanted) break;
      last = at;
      at += c.length;
    }
    return at;
  };
  std::size_t last = 0;
  if (text.size() > space) {
    const CharClass next = Classify(DecodeUtf8(text.substr(space)).value);
    if (next != CharClass::kSpace) return run(space, next, last);
  }
  const std::size_t end = run(0, CharClass::kSpace, last);
  return end == text.size() || last == 0 ? end : last;
}

// Merges all places of the best pair, over and over.
class PlainBpe {
 public:
  explicit PlainBpe(const BpeTokenizer& tokenizer) : tokenizer_(tokenizer) {
    std::ifstream in(VectorFolder() + "/vocab.bpe");
    for (std::string left, right; in >> left >> right;) {
      if (left != "#version:") ranks_.emplace(std::pair(FromLetters(left), FromLetters(right)), ranks_.size());
    }
  }

  Ids Encode(std::string_view text) const {
    Ids out;
    while (!text.empty()) {
      const std::size_t word = PlainFirstWord(text);
      for (const std::string& symbol : Merged(text.substr(0, word))) out.push_back(tokenizer_.Find(symbol).value());
      text.remove_prefix(word);
    }
    return out;
  }

 private:
  static std::string FromLetters(std::string_view written) {
    std::map<std::uint32_t, char> bytes;
    for (std::uint32_t b = 0, next = 256; b < 256; ++b) {
      const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      bytes[shown ? b : next++] = static_cast<char>(b);
    }
    std::string out;
    for (; !written.empty(); written.remove_prefix(DecodeUtf8(written).length)) out += bytes.at(DecodeUtf8(written).value);
    return out;
  }

  std::vector<std::string> Merged(std::string_view word) const {
    std::vector<std::string> symbols;
    for (char c : word) symbols.emplace_back(1, c);
    while (true) {
      auto best = ranks_.end();
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        const auto found = ranks_.find({symbols[i], symbols[i + 1]});
        if (found != ranks_.end() && (best == ranks_.end() || found->second < best->second)) best = found;
      }
      if (best == ranks_.end()) return symbols;
      std::vector<std::string> next;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const bool here = i + 1 < symbols.size() && symbols[i] == best->first.first && symbols[i + 1] == best->first.second;
        next.push_back(here ? symbols[i] + symbols[i + 1] : symbols[i]);
        i += here ? 1 : 0;
      }
      symbols = std::move(next);
    }
  }

  const BpeTokenizer& tokenizer_;
  std::map<std::pair<std::string, std::string>, std::size_t> ranks_;
};

std::string Utf8(std::uint32_t c) {
  std::string out;
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6), put(0x80 | (c & 63));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  } else {
    put(0xf0 | c >> 18), put(0x80 | (c >> 12 & 63)), put(0x80 | (c >> 6 & 63)), put(0x80 | (c & 63));
  }
  return out;
}

// Texts of one sort each, from a seed.
class Texts {
 public:
  explicit Texts(std::uint32_t seed) : random_(seed) {}

  std::string Bytes(std::size_t size) {
    std::string out;
    while (out.size() < size) out.push_back(static_cast<char>(random_() & 0xff));
    return out;
  }
  std::string Ascii(std::size_t size) {
    static constexpr std::string_view kPieces[] = {"'s", "'t", "'re", "'ll", "'", "  ", " ", "\n", "\t\n", "the", " and", "ing",
                                                   "7",  "42", "!?",  "--",  "A", "z",  "_", ".",  "0",    "''",  "\r",   "er"};
    std::string out;
    while (out.size() < size) out += kPieces[random_() % std::size(kPieces)];
    return out;
  }
  std::string Unicode(std::size_t size) {
    static constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
        {0x20, 0x7e},     {0x20, 0x20},       {0xa0, 0xff},      {0x300, 0x36f},   {0x400, 0x4ff},
        {0x600, 0x6ff},   {0x2000, 0x206f},   {0x3000, 0x30ff},  {0x4e00, 0x9fff}, {0xac00, 0xd7a3},
        {0xfff0, 0xffff}, {0x1f300, 0x1f6ff}, {0x1d400, 0x1d7ff}};
    std::string out;
    while (out.size() < size) {
      const auto [first, last] = kRanges[random_() % std::size(kRanges)];
      for (std::uint32_t n = random_() % 4; n < 4; ++n)
        out += Utf8(first + static_cast<std::uint32_t>(random_() % (last - first + 1)));
    }
    return out;
  }
  std::string Torn(std::size_t size) {  // unicode with bytes lost
    std::string out;
    for (char c : Unicode(size)) {
      if (random_() % 9 != 0) out.push_back(c);
    }
    return out;
  }

 private:
  std::mt19937 random_;
};

std::vector<std::string> ManyTexts() {
  std::vector<std::string> out;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    Texts texts(seed);
    const std::size_t size = seed < 40 ? seed : 1500;
    for (std::string text : {texts.Bytes(size), texts.Ascii(size), texts.Unicode(size), texts.Torn(size)})
      out.push_back(std::move(text));
  }
  out.push_back(std::string(700, 'e') + std::string(300, ' ') + "the" + std::string(65, 't'));
  return out;
}

class FastBpe : public testing::Test {
 protected:
  Allowance everything_;
  std::shared_ptr<const BpeTokenizer> tokenizer_ = BpeTokenizer::Open(VectorFolder(), everything_).value();
  PlainBpe plain_{*tokenizer_};
};

TEST_F(FastBpe, EqualsThePlainOneOnAnything) {
  BpeEncoder kept(tokenizer_->tables()), crowded(tokenizer_->tables(), 2);
  for (const std::string& text : ManyTexts()) {
    const Ids expected = plain_.Encode(text);
    EXPECT_EQ(tokenizer_->Encode(text).value(), expected);
    for (BpeEncoder* encoder : {&kept, &crowded}) {  // which remember what came before, or hardly anything
      Ids ids;
      encoder->AppendAll(text, ids);
      EXPECT_EQ(ids, expected);
    }
  }
}

TEST_F(FastBpe, WordsAreThoseOfThePlainOne) {
  for (const std::string& text : ManyTexts()) {
    for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(PlainFirstWord(rest))) {
      ASSERT_EQ(tokenizer_->tables().words.FirstWord(rest), PlainFirstWord(rest));
    }
  }
}

// Where a text may be cut, both parts have the tokens that they have together.
TEST_F(FastBpe, CutsChangeNoToken) {
  int cuts = 0;
  for (const std::string& text : ManyTexts()) {
    if (text.size() > 200) continue;
    const Ids whole = plain_.Encode(text);
    for (std::size_t at = 1; at < text.size(); ++at) {
      if (!tokenizer_->tables().words.CutsBefore(text, at)) continue;
      ++cuts;
      Ids parts = plain_.Encode(text.substr(0, at));
      const Ids rest = plain_.Encode(text.substr(at));
      parts.insert(parts.end(), rest.begin(), rest.end());
      ASSERT_EQ(parts, whole) << at;
      // What comes earlier than the character before makes no difference.
      ASSERT_TRUE(tokenizer_->tables().words.CutsBefore(std::string_view(text).substr(at > 4 ? at - 4 : 0),
                                                        std::min<std::size_t>(at, 4)));
    }
  }
  EXPECT_GT(cuts, 100);
}

TEST_F(FastBpe, StopsBeforeAWordThatIsLong) {
  const std::string text = "the cat" + std::string(BpeEncoder::kLongWord + 1, 'e');
  BpeEncoder encoder(tokenizer_->tables());
  Ids ids;
  EXPECT_EQ(encoder.Append(text, text.size(), ids), 3u);
  EXPECT_EQ(encoder.Append(std::string_view(text).substr(3), text.size(), ids), 0u);
  encoder.AppendWord(std::string_view(text).substr(3), ids);
  EXPECT_EQ(ids, tokenizer_->Encode(text).value());
}

TEST_F(FastBpe, FindsTokensByTheirBytes) {
  EXPECT_EQ(tokenizer_->Decode(Ids{tokenizer_->Find("e").value()}), "e");
  EXPECT_FALSE(tokenizer_->Find("no such token"));
}

TEST(MergeTable, FindsWhatWasPutIn) {
  std::vector<Merge> merges;
  for (std::uint16_t i = 0; i < 5000; ++i) {
    merges.push_back(
        {static_cast<std::uint16_t>(i * 7), static_cast<std::uint16_t>(i * 13), static_cast<std::uint16_t>(i + 1)});
  }
  const MergeTable table(merges);
  for (std::uint16_t i = 0; i < 5000; ++i) {
    const auto found = table.Find(merges[i].left, merges[i].right);
    EXPECT_EQ(found.rank, i);
    EXPECT_EQ(found.result, i + 1);
  }
  EXPECT_EQ(table.Find(1, 1).rank, MergeTable::kNone);
  EXPECT_EQ(table.Find(0xffff, 0xffff).rank, MergeTable::kNone);
  EXPECT_EQ(MergeTable().Find(0, 0).rank, MergeTable::kNone);
}

TEST(CharClasses, AreThoseOfClassify) {
  const CharClasses classes;
  for (std::uint32_t c = 0; c < 0x30000; ++c) ASSERT_EQ(classes.Of(c), Classify(c)) << c;
}

}  // namespace
}  // namespace assay
