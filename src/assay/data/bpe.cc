#include "assay/data/bpe.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <queue>

#include "assay/base/check.h"
#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/data/byte_alphabet.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxFile = 64u << 20;
constexpr std::uint64_t kEncoderGrowth = 40;  // of what parsing makes of a byte of encoder.json, at most
constexpr std::uint64_t kSymbolBytes = 64;    // of what merging takes for a byte of a word
// Words whose tokens are remembered: most of what a text is made of, whatever it is.
constexpr std::size_t kMaxKnown = std::size_t{1} << 17, kMaxKnownWord = 64;
constexpr std::uint64_t kKnownBytes = 192;  // of what one takes
constexpr std::size_t kLongWord = 1 << 16;

std::string_view TextOf(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string SingleByte(std::size_t b) { return std::string(1, static_cast<char>(b)); }

Status CheckBytes(const BpeTokenizer::Parts& parts, std::string_view name) {
  for (std::size_t b = 0; b < 256; ++b) {
    if (!parts.ids.contains(SingleByte(b)))
      return Err("{}: expected a token for every single byte, 0x{:02x} has none", name, b);
  }
  return {};
}

Status ReadEncoder(std::string_view json, std::string_view name, BpeTokenizer::Parts& parts) {
  const nlohmann::json root = nlohmann::json::parse(json, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return Err("{}: expected a JSON object of tokens and their numbers", name);
  if (root.empty() || root.size() > BpeTokenizer::kMaxVocabulary)
    return Err("{}: expected 1 .. {} tokens, got {}", name, BpeTokenizer::kMaxVocabulary, root.size());
  parts.tokens.resize(root.size());
  std::vector<bool> used(root.size(), false);
  for (const auto& [written, id] : root.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= root.size() || used[id.get<std::size_t>()]) {
      return Err("{}: token {}: expected a number of its own in 0 .. {}", name, Quote(written), root.size() - 1);
    }
    const auto bytes = BytesOfAlphabet(written);
    if (!bytes || bytes->empty() || bytes->size() > BpeTokenizer::kMaxTokenBytes) {
      return Err("{}: token {} does not spell bytes in GPT-2's alphabet", name, Quote(written));
    }
    used[id.get<std::size_t>()] = true;
    parts.tokens[id.get<std::size_t>()] = *bytes;
    parts.ids.emplace(*bytes, id.get<std::uint16_t>());
  }
  return {};
}

// Of tokens that have been read.
Status ReadMerges(std::string_view text, std::string_view name, BpeTokenizer::Parts& parts) {
  const auto& ids = parts.ids;
  std::vector<bool> reachable(parts.tokens.size(), false);
  for (const auto& [bytes, id] : ids) reachable[id] = bytes.size() == 1;
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
    const auto left_id = ids.find(left.value_or("")), right_id = ids.find(right.value_or(""));
    if (left_id == ids.end() || right_id == ids.end()) return Err("{}:{}: a token is not in encoder.json", name, line_number);
    const auto result = ids.find(*left + *right);
    if (result == ids.end()) return Err("{}:{}: the merged token is not in encoder.json", name, line_number);
    // A trained list makes each token once and only from what earlier lines have made. Merging the lowest rank first, leftmost first, then
    // equals merging all places of one pair before the next.
    if (!reachable[left_id->second] || !reachable[right_id->second]) {
      return Err("{}:{}: a merge of a token that no earlier line makes", name, line_number);
    }
    if (reachable[result->second]) return Err("{}:{}: a token that an earlier line makes already", name, line_number);
    reachable[result->second] = true;
    parts.merges.push_back({left_id->second, right_id->second, result->second});
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::Open(const std::string& folder, Allowance& allowance) {
  const std::string encoder_path = JoinPath(folder, "encoder.json"), merges_path = JoinPath(folder, "vocab.bpe");
  ASSAY_ASSIGN(const MappedFile encoder, MappedFile::Open(encoder_path));
  ASSAY_ASSIGN(const MappedFile merges, MappedFile::Open(merges_path));
  for (const auto& [file, path] : {std::pair(&encoder, &encoder_path), std::pair(&merges, &merges_path)}) {
    if (file->bytes().size() > kMaxFile)
      return Err("{}: has {} bytes, at most {} are read", *path, file->bytes().size(), kMaxFile);
  }
  const std::uint64_t spelled = encoder.bytes().size();
  // No token takes fewer bytes of the file than `"a":1,`.
  ASSAY_TRY(allowance.Take(2 * spelled + std::min<std::uint64_t>(kMaxVocabulary, spelled / 6) * kTokenBytes));
  ASSAY_ASSIGN(const auto parsing, allowance.Borrow(kEncoderGrowth * spelled + merges.bytes().size()));
  return Parse(TextOf(encoder.bytes()), encoder_path, TextOf(merges.bytes()), merges_path);
}

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::Parse(std::string_view encoder, std::string_view encoder_name,
                                                                std::string_view merges, std::string_view merges_name) {
  Parts parts;
  ASSAY_TRY(ReadEncoder(encoder, encoder_name, parts));
  ASSAY_TRY(CheckBytes(parts, encoder_name));
  ASSAY_TRY(ReadMerges(merges, merges_name, parts));
  return Make(std::move(parts), encoder_name);
}

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::Make(Parts parts, std::string_view name) {
  ASSAY_TRY(CheckBytes(parts, name));
  auto out = std::make_shared<BpeTokenizer>();
  for (std::size_t b = 0; b < 256; ++b) out->byte_ids_[b] = parts.ids.at(SingleByte(b));
  std::uint32_t rank = 0;
  for (const Merge& merge : parts.merges) {
    const bool added =
        out->merges_.emplace((std::uint32_t{merge.left} << 16) | merge.right, Ranked{rank++, merge.result}).second;
    ASSAY_CHECK(added);
  }
  parts.merges.clear();
  parts.merges.shrink_to_fit();
  if (!parts.whole_words) parts.ids.clear();  // words are made of merges alone
  out->parts_ = std::move(parts);
  return out;
}

const BpeTokenizer::Ranked* BpeTokenizer::Find(std::uint16_t left, std::uint16_t right) const {
  const auto it = merges_.find((std::uint32_t{left} << 16) | right);
  return it == merges_.end() ? nullptr : &it->second;
}

// The pair of lowest rank is merged first, of equal ranks the leftmost. Symbols form a linked list; a heap holds candidate pairs, of
// which those whose symbols have changed since are skipped.
void BpeTokenizer::EncodeWord(std::string_view word, std::vector<std::uint16_t>& out) const {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Symbol {
    std::uint16_t id;
    bool alive;
    std::uint32_t previous, next;
  };
  struct Candidate {
    std::uint32_t rank, at;
    std::uint16_t result;
    bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
  };
  if (parts_.whole_words) {
    if (const auto whole = parts_.ids.find(std::string(word)); whole != parts_.ids.end()) return out.push_back(whole->second);
  }
  const auto n = static_cast<std::uint32_t>(word.size());
  std::vector<Symbol> symbols;
  symbols.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    symbols.push_back(
        {byte_ids_[static_cast<std::uint8_t>(word[i])], true, i == 0 ? kNone : i - 1, i + 1 == n ? kNone : i + 1});
  }
  std::priority_queue<Candidate> queue;
  const auto offer = [&](std::uint32_t at) {
    if (at == kNone || symbols[at].next == kNone) return;
    const Ranked* merge = Find(symbols[at].id, symbols[symbols[at].next].id);
    if (merge != nullptr) queue.push({merge->rank, at, merge->result});
  };
  for (std::uint32_t i = 0; i < n; ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[best.at];
    if (!left.alive || left.next == kNone) continue;
    Symbol& right = symbols[left.next];
    // What stands there may have become another pair; where that makes the same token, it is merged in its place, as others do.
    const Ranked* merge = Find(left.id, right.id);
    if (merge == nullptr || merge->result != best.result) continue;
    left.id = best.result;
    right.alive = false;
    left.next = right.next;
    if (left.next != kNone) symbols[left.next].previous = best.at;
    offer(left.previous);
    offer(best.at);
  }
  for (std::uint32_t i = 0; i != kNone && i < n; i = symbols[i].next) out.push_back(symbols[i].id);
}

struct BpeTokenizer::Encoding {
  std::vector<std::uint16_t> out;
  std::unordered_map<std::string, std::pair<std::size_t, std::size_t>> known;  // where in `out` a word's tokens are
  std::size_t unchecked = 0;                                                   // bytes since the last look at the allowance
};

Status BpeTokenizer::EncodePiece(std::string_view text, Encoding& encoding, Allowance& allowance) const {
  auto& [out, known, unchecked] = encoding;
  Allowance::Loan copy;
  std::string prefixed;
  if (parts_.prefix_space && !text.empty() && !text.starts_with(' ')) {
    ASSAY_ASSIGN(copy, allowance.Borrow(text.size() + 1));
    prefixed.reserve(text.size() + 1);
    prefixed.append(" ").append(text);
    text = prefixed;
  }
  Words words(parts_.cuts, text);
  for (std::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    if ((unchecked += word.size()) >= kLongWord) {
      unchecked = 0;
      ASSAY_TRY(allowance.Check());
    }
    if (const auto it = known.find(std::string(word)); it != known.end()) {
      for (std::size_t i = it->second.first; i < it->second.second; ++i) out.push_back(out[i]);
      continue;
    }
    const std::size_t begin = out.size();
    ASSAY_ASSIGN(const auto symbols, allowance.Borrow(word.size() > kLongWord ? word.size() * kSymbolBytes : 0));
    EncodeWord(word, out);
    if (word.size() <= kMaxKnownWord && known.size() < kMaxKnown) known.emplace(word, std::pair(begin, out.size()));
  }
  return {};
}

Result<std::vector<std::uint16_t>> BpeTokenizer::Encode(std::string_view text, Allowance& allowance) const {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max())
    return Err("text of {} bytes, at most 4 GiB can be encoded", text.size());
  // There are at most as many tokens as bytes, and spaces in front; a list that grows is there twice for a moment, the second time with room to grow.
  const std::uint64_t most = (parts_.prefix_space ? 2 : 1) * text.size();
  ASSAY_TRY(allowance.Take(most * sizeof(std::uint16_t)));
  ASSAY_ASSIGN(const auto growth, allowance.Borrow(2 * most * sizeof(std::uint16_t)));
  ASSAY_ASSIGN(const auto memory, allowance.Borrow(std::min<std::uint64_t>(kMaxKnown, text.size()) * kKnownBytes));
  Encoding encoding;
  while (!text.empty()) {
    const AddedTokens::Match found = parts_.added.empty() ? AddedTokens::Match{.begin = text.size()} : parts_.added.First(text);
    ASSAY_TRY(EncodePiece(text.substr(0, found.begin), encoding, allowance));
    if (found.length > 0) encoding.out.push_back(found.id);
    text.remove_prefix(found.begin + found.length);
  }
  encoding.out.shrink_to_fit();
  return std::move(encoding.out);
}

std::string BpeTokenizer::Decode(std::span<const std::uint16_t> ids) const {
  std::string out;
  for (std::uint16_t id : ids) {
    if (id < parts_.tokens.size()) out += parts_.tokens[id];
  }
  return out;
}

}  // namespace assay
