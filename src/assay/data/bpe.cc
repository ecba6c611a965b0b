#include "assay/data/bpe.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <optional>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/data/byte_alphabet.h"

namespace assay {
namespace {

constexpr std::size_t kMaxVocabulary = 65536;
constexpr std::size_t kMaxTokenBytes = 4096;
constexpr std::uint64_t kEncoderGrowth = 40;  // of what parsing makes of a byte of encoder.json, at most
constexpr std::uint64_t kTokenBytes = 256;    // of what is kept of a token beside its spelling
// Words whose tokens are remembered: most of what a text is made of, whatever it is. A short text has fewer.
constexpr std::size_t kMaxRemembered = std::size_t{1} << 16, kBytesOfAWord = 8;
constexpr std::size_t kAtOnce = 1 << 16;

std::string_view TextOf(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::Open(const std::string& folder, Allowance& allowance) {
  const std::string encoder_path = JoinPath(folder, "encoder.json"), merges_path = JoinPath(folder, "vocab.bpe");
  ASSAY_ASSIGN(const MappedFile encoder, MappedFile::Open(encoder_path));
  ASSAY_ASSIGN(const MappedFile merges, MappedFile::Open(merges_path));
  for (const auto& [file, path] : {std::pair(&encoder, &encoder_path), std::pair(&merges, &merges_path)}) {
    if (file->bytes().size() > kMaxVocabularyFile)
      return Err("{}: has {} bytes, at most {} are read", *path, file->bytes().size(), kMaxVocabularyFile);
  }
  return Parse(TextOf(encoder.bytes()), encoder_path, TextOf(merges.bytes()), merges_path, allowance);
}

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::Parse(std::string_view encoder, std::string_view encoder_name,
                                                                std::string_view merges, std::string_view merges_name,
                                                                Allowance& allowance) {
  const std::uint64_t spelled = encoder.size();
  // No token takes fewer bytes of the file than `"a":1,`.
  ASSAY_TRY(allowance.Take(2 * spelled + std::min<std::uint64_t>(kMaxVocabulary, spelled / 6) * kTokenBytes));
  ASSAY_ASSIGN(const auto parsing, allowance.Borrow(kEncoderGrowth * spelled + merges.size()));
  return Parse(encoder, encoder_name, merges, merges_name);
}

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::Parse(std::string_view encoder, std::string_view encoder_name,
                                                                std::string_view merges, std::string_view merges_name) {
  auto out = std::make_shared<BpeTokenizer>();
  ASSAY_TRY(out->ReadEncoder(encoder, encoder_name));
  ASSAY_TRY(out->ReadMerges(merges, merges_name));
  return out;
}

Status BpeTokenizer::ReadEncoder(std::string_view json, std::string_view name) {
  const nlohmann::json root = nlohmann::json::parse(json, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return Err("{}: expected a JSON object of tokens and their numbers", name);
  if (root.empty() || root.size() > kMaxVocabulary)
    return Err("{}: expected 1 .. {} tokens, got {}", name, kMaxVocabulary, root.size());
  tokens_.resize(root.size());
  std::vector<bool> used(root.size(), false);
  for (const auto& [written, id] : root.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= root.size() || used[id.get<std::size_t>()]) {
      return Err("{}: token {}: expected a number of its own in 0 .. {}", name, Quote(written), root.size() - 1);
    }
    const auto bytes = BytesOfAlphabet(written);
    if (!bytes || bytes->empty() || bytes->size() > kMaxTokenBytes) {
      return Err("{}: token {} does not spell bytes in GPT-2's alphabet", name, Quote(written));
    }
    used[id.get<std::size_t>()] = true;
    tokens_[id.get<std::size_t>()] = *bytes;
    ids_.emplace(*bytes, id.get<std::uint16_t>());
  }
  for (std::size_t b = 0; b < 256; ++b) {
    const auto it = ids_.find(std::string(1, static_cast<char>(b)));
    if (it == ids_.end()) return Err("{}: expected a token for every single byte, 0x{:02x} has none", name, b);
    tables_.byte_ids[b] = it->second;
  }
  return {};
}

Status BpeTokenizer::ReadMerges(std::string_view text, std::string_view name) {
  std::vector<bool> reachable(tokens_.size(), false);
  for (std::uint16_t id : tables_.byte_ids) reachable[id] = true;
  std::vector<Merge> merges;  // fewer than there are tokens, 256 of which no merge makes
  for (std::size_t line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const std::size_t gap = line.find(' ');
    if (gap == std::string_view::npos || line.find(' ', gap + 1) != std::string_view::npos) {
      return Err("{}:{}: expected two tokens with a space between them", name, line_number);
    }
    const auto left = BytesOfAlphabet(line.substr(0, gap)), right = BytesOfAlphabet(line.substr(gap + 1));
    const auto left_id = ids_.find(left.value_or("")), right_id = ids_.find(right.value_or(""));
    if (left_id == ids_.end() || right_id == ids_.end()) return Err("{}:{}: a token is not in encoder.json", name, line_number);
    const auto result = ids_.find(*left + *right);
    if (result == ids_.end()) return Err("{}:{}: the merged token is not in encoder.json", name, line_number);
    // A trained list makes each token once and only from what earlier lines have made. Merging the lowest rank first, leftmost first, then
    // equals merging all places of one pair before the next.
    if (!reachable[left_id->second] || !reachable[right_id->second]) {
      return Err("{}:{}: a merge of a token that no earlier line makes", name, line_number);
    }
    if (reachable[result->second]) return Err("{}:{}: a token that an earlier line makes already", name, line_number);
    reachable[result->second] = true;
    merges.push_back({left_id->second, right_id->second, result->second});
  }
  tables_.merges = MergeTable(merges);
  return {};
}

std::optional<std::uint16_t> BpeTokenizer::Find(std::string_view bytes) const {
  const auto it = ids_.find(std::string(bytes));
  return it == ids_.end() ? std::nullopt : std::optional(it->second);
}

Result<std::vector<std::uint16_t>> BpeTokenizer::Encode(std::string_view text, Allowance& allowance) const {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max())
    return Err("text of {} bytes, at most 4 GiB can be encoded", text.size());
  // There are at most as many tokens as bytes; a list that grows is there twice for a moment, the second time with room to grow.
  ASSAY_TRY(allowance.Take(text.size() * sizeof(std::uint16_t)));
  ASSAY_ASSIGN(const auto growth, allowance.Borrow(2 * text.size() * sizeof(std::uint16_t)));
  const std::size_t words = std::min(kMaxRemembered, text.size() / kBytesOfAWord);
  ASSAY_ASSIGN(const auto memory, allowance.Borrow(2 * words * BpeEncoder::kRememberedBytes));
  std::vector<std::uint16_t> out;
  BpeEncoder encoder(tables_, words);
  while (!text.empty()) {
    ASSAY_TRY(allowance.Check());
    std::size_t done = encoder.Append(text, kAtOnce, out);
    if (done == 0) {
      done = tables_.words.FirstWord(text);
      ASSAY_ASSIGN(const auto symbols, allowance.Borrow(done * BpeEncoder::kSymbolBytes));
      encoder.AppendWord(text.substr(0, done), out);
    }
    text.remove_prefix(done);
  }
  out.shrink_to_fit();
  return out;
}

std::string BpeTokenizer::Decode(std::span<const std::uint16_t> ids) const {
  std::string out;
  for (std::uint16_t id : ids) {
    if (id < tokens_.size()) out += tokens_[id];
  }
  return out;
}

}  // namespace assay
