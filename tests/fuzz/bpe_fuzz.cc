// GPT-2 vocabulary files, and texts encoded with a good one.
#include "assay/base/check.h"
#include "assay/data/bpe.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

// All single bytes, then "ab", "abc", " a", "  ".
std::string Encoder() {
  std::string out = "{";
  int next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool shown = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    out += fmt::format("\"\\u{:04x}\":{},", shown ? b : next++, b);
  }
  return out + R"("ab":256,"abc":257,"\u0120a":258,"\u0120\u0120":259})";
}

constexpr std::string_view kMerges = "#version: 0.2\na b\nab c\n\xc4\xa0 a\n\xc4\xa0 \xc4\xa0\n";

void RoundTrip(const BpeTokenizer& tokenizer, std::string_view text) {
  const auto ids = tokenizer.Encode(text);
  ASSAY_CHECK(ids.has_value());
  ASSAY_CHECK(tokenizer.Decode(*ids) == text);
}

}  // namespace

void RunBpeText(ByteSpan input) {
  const auto tokenizer = BpeTokenizer::Parse(Encoder(), "encoder", kMerges, "merges");
  ASSAY_CHECK(tokenizer.has_value());
  RoundTrip(**tokenizer, AsText(input));
}

void RunBpeVocabulary(ByteSpan input) {
  const auto pieces = Pieces(input, 3);
  const auto tokenizer = BpeTokenizer::Parse(pieces[0], "encoder", pieces[1], "merges");
  if (tokenizer) RoundTrip(**tokenizer, pieces[2]);
}

std::vector<Bytes> BpeTextSeeds() {
  return {ToBytes("don't  we'll abc abcabc 123 \xc3\xa9\xe6\x97\xa5 \n\n x"),
          ToBytes(std::string(300, 'a') + std::string(300, ' '))};
}

std::vector<Bytes> BpeVocabularySeeds() {
  std::string seed = Encoder();
  seed += '\0';
  seed += kMerges;
  seed += '\0';
  seed += "abc ab c";
  return {ToBytes(seed), ToBytes("{\"a\":0}")};
}

}  // namespace assay::fuzz
