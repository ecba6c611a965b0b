#include "assay/data/byte_level_bpe.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "assay/base/check.h"

namespace assay {
namespace {

constexpr std::uint64_t kSymbolBytes = 64;  // of what merging takes for a byte of a word
// Words whose tokens are remembered: most of what a text is made of, whatever it is.
constexpr std::size_t kMaxKnown = std::size_t{1} << 17, kMaxKnownWord = 64;
constexpr std::uint64_t kKnownBytes = 192;  // of what one takes
constexpr std::size_t kLongWord = 1 << 16;

std::string SingleByte(std::size_t b) { return std::string(1, static_cast<char>(b)); }

Status CheckBytes(const ByteLevelBpe::Parts& parts, std::string_view name) {
  for (std::size_t b = 0; b < 256; ++b) {
    if (!parts.ids.contains(SingleByte(b)))
      return Err("{}: expected a token for every single byte, 0x{:02x} has none", name, b);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const ByteLevelBpe>> ByteLevelBpe::Make(Parts parts, std::string_view name) {
  ASSAY_TRY(CheckBytes(parts, name));
  auto out = std::make_shared<ByteLevelBpe>();
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

const ByteLevelBpe::Ranked* ByteLevelBpe::Find(std::uint16_t left, std::uint16_t right) const {
  const auto it = merges_.find((std::uint32_t{left} << 16) | right);
  return it == merges_.end() ? nullptr : &it->second;
}

// The pair of lowest rank is merged first, of equal ranks the leftmost. Symbols form a linked list; a heap holds candidate pairs, of
// which those whose symbols have changed since are skipped.
void ByteLevelBpe::EncodeWord(std::string_view word, std::vector<std::uint16_t>& out) const {
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

struct ByteLevelBpe::Encoding {
  std::vector<std::uint16_t> out;
  std::unordered_map<std::string, std::pair<std::size_t, std::size_t>> known;  // where in `out` a word's tokens are
  std::size_t unchecked = 0;                                                   // bytes since the last look at the allowance
};

Status ByteLevelBpe::EncodePiece(std::string_view text, Encoding& encoding, Allowance& allowance) const {
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

Result<std::vector<std::uint16_t>> ByteLevelBpe::Encode(std::string_view text, Allowance& allowance) const {
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

std::string ByteLevelBpe::Decode(std::span<const std::uint16_t> ids) const {
  std::string out;
  for (std::uint16_t id : ids) {
    if (id < parts_.tokens.size()) out += parts_.tokens[id];
  }
  return out;
}

}  // namespace assay
