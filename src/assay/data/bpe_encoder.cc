#include "assay/data/bpe_encoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace assay {
namespace {

constexpr std::size_t kShortWord = 64;
constexpr std::size_t kReady = 1 << 12;

}  // namespace

BpeEncoder::BpeEncoder(const BpeTables& tables, std::size_t words)
    : tables_(tables), remembered_(std::bit_ceil(std::max<std::size_t>(words, 2))), ready_(kReady + kMaxIds) {}

// Where 8 bytes can be read, a short word takes one load.
BpeEncoder::Key BpeEncoder::KeyOf(std::string_view word, std::size_t readable) {
  Key key{};
  if (word.size() <= 8 && readable >= 8) {
    std::memcpy(key.data(), word.data(), 8);
    key[0] &= ~std::uint64_t{0} >> (64 - 8 * word.size());
  } else {
    std::memcpy(key.data(), word.data(), word.size());
  }
  key[kKeyWords - 1] |= std::uint64_t{word.size()} << 56;
  return key;
}

std::size_t BpeEncoder::PlaceOf(const Key& key) const {
  std::uint64_t h =
      key[0] * 0x9e3779b97f4a7c15 ^ key[1] * 0xc2b2ae3d27d4eb4f ^ key[2] * 0x165667b19e3779f9 ^ key[3] * 0xd6e8feb86659fd93;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(h >> 32) & (remembered_.size() - 1);
}

std::size_t BpeEncoder::Append(std::string_view text, std::size_t enough, std::vector<std::uint16_t>& out) {
  std::size_t done = 0, ready = 0;
  const auto flush = [&] {
    out.insert(out.end(), ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(ready));
    ready = 0;
  };
  while (done < text.size() && done < enough) {
    const std::string_view rest = text.substr(done);
    const std::string_view word = rest.substr(0, tables_.words.FirstWord(rest));
    if (word.size() > kLongWord) break;
    done += word.size();
    if (ready >= kReady) flush();
    if (word.size() > kMaxRemembered) {
      flush();
      MergeWord(word);
      out.insert(out.end(), merged_.begin(), merged_.end());
      continue;
    }
    const Key key = KeyOf(word, rest.size());
    const std::size_t place = PlaceOf(key);
    const Remembered* found = &remembered_[place];
    if (found->key != key) found = &remembered_[place ^ 1];
    if (found->key != key) {
      MergeWord(word);
      if (merged_.size() > kMaxIds) {
        flush();
        out.insert(out.end(), merged_.begin(), merged_.end());
        continue;
      }
      remembered_[place ^ 1] = remembered_[place];
      Remembered& fresh = remembered_[place];
      fresh.key = key;
      std::copy(merged_.begin(), merged_.end(), fresh.ids.begin());
      fresh.count = static_cast<std::uint16_t>(merged_.size());
      found = &fresh;
    }
    std::copy(found->ids.begin(), found->ids.end(), ready_.begin() + static_cast<std::ptrdiff_t>(ready));
    ready += found->count;
  }
  flush();
  return done;
}

void BpeEncoder::AppendWord(std::string_view word, std::vector<std::uint16_t>& out) {
  MergeWord(word);
  out.insert(out.end(), merged_.begin(), merged_.end());
}

void BpeEncoder::AppendAll(std::string_view text, std::vector<std::uint16_t>& out) {
  while (!text.empty()) {
    std::size_t done = Append(text, text.size(), out);
    if (done == 0) {
      done = tables_.words.FirstWord(text);
      AppendWord(text.substr(0, done), out);
    }
    text.remove_prefix(done);
  }
}

void BpeEncoder::MergeWord(std::string_view word) {
  if (word.size() <= kShortWord) {
    MergeShort(word);
  } else {
    MergeLong(word);
  }
}

// The pair of lowest rank is merged first, of equal ranks the leftmost.
void BpeEncoder::MergeShort(std::string_view word) {
  std::array<std::uint16_t, kShortWord> ids;
  std::array<MergeTable::Found, kShortWord> pairs;  // of a symbol and the next one
  std::size_t n = word.size();
  for (std::size_t i = 0; i < n; ++i) ids[i] = tables_.byte_ids[static_cast<std::uint8_t>(word[i])];
  for (std::size_t i = 0; i + 1 < n; ++i) pairs[i] = tables_.merges.Find(ids[i], ids[i + 1]);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == MergeTable::kNone) break;
    ids[best] = pairs[best].result;
    for (std::size_t i = best + 1; i + 1 < n; ++i) ids[i] = ids[i + 1];
    for (std::size_t i = best + 1; i + 2 < n; ++i) pairs[i] = pairs[i + 1];
    --n;
    if (best > 0) pairs[best - 1] = tables_.merges.Find(ids[best - 1], ids[best]);
    if (best + 1 < n) pairs[best] = tables_.merges.Find(ids[best], ids[best + 1]);
  }
  merged_.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
}

// The same. Symbols form a linked list; a heap holds candidate pairs, of which those whose symbols have changed since are skipped.
void BpeEncoder::MergeLong(std::string_view word) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  const auto n = static_cast<std::uint32_t>(word.size());
  symbols_.clear();
  candidates_.clear();
  for (std::uint32_t i = 0; i < n; ++i) {
    symbols_.push_back(
        {tables_.byte_ids[static_cast<std::uint8_t>(word[i])], true, i == 0 ? kNone : i - 1, i + 1 == n ? kNone : i + 1});
  }
  const auto offer = [&](std::uint32_t at) {
    if (at == kNone || symbols_[at].next == kNone) return;
    const std::uint16_t left = symbols_[at].id, right = symbols_[symbols_[at].next].id;
    const MergeTable::Found found = tables_.merges.Find(left, right);
    if (found.rank == MergeTable::kNone) return;
    candidates_.push_back({found.rank, at, left, right});
    std::push_heap(candidates_.begin(), candidates_.end());
  };
  for (std::uint32_t i = 0; i < n; ++i) offer(i);
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end());
    const Candidate best = candidates_.back();
    candidates_.pop_back();
    Symbol& left = symbols_[best.at];
    if (!left.alive || left.id != best.left || left.next == kNone || symbols_[left.next].id != best.right) continue;
    Symbol& right = symbols_[left.next];
    left.id = tables_.merges.Find(best.left, best.right).result;
    right.alive = false;
    left.next = right.next;
    if (left.next != kNone) symbols_[left.next].previous = best.at;
    offer(left.previous);
    offer(best.at);
  }
  merged_.clear();
  for (std::uint32_t i = 0; i != kNone && i < n; i = symbols_[i].next) merged_.push_back(symbols_[i].id);
  // A long word's memory is not kept.
  if (n > kLongWord) {
    symbols_ = {};
    candidates_ = {};
    merged_.shrink_to_fit();
  }
}

}  // namespace assay
