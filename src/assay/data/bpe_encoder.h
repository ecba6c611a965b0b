// BpeEncoder: text to GPT-2's byte pairs, quickly.
//
// Words that have been seen are remembered with their tokens in a table of fixed size, in which a newer word takes an older one's place; what
// is remembered never changes a token. Merging takes O(n log n) for any word. Not synchronised: each thread has its own. The tables must
// outlive it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/data/merge_table.h"
#include "assay/data/pretokenize.h"

namespace assay {

// What encoding needs of a vocabulary. Immutable; thread safe.
struct BpeTables {
  Pretokenizer words;
  std::array<std::uint16_t, 256> byte_ids{};
  MergeTable merges;
};

class BpeEncoder {
 public:
  static constexpr std::size_t kLongWord = 1 << 16;  // bytes
  static constexpr std::size_t kSymbolBytes = 64;    // of what merging takes for a byte of a word that is long
  static constexpr std::size_t kRememberedBytes = 64;

  // Remembers up to `words` words, rounded up to a power of two; each takes kRememberedBytes.
  explicit BpeEncoder(const BpeTables& tables, std::size_t words = std::size_t{1} << 16);

  // Appends the tokens of the first words of `text` to `out`, and says how many bytes they have: all of the text, or at least `enough`, or
  // those before a word longer than kLongWord, whose memory a caller may want to account for. So 0 means that such a word comes first.
  std::size_t Append(std::string_view text, std::size_t enough, std::vector<std::uint16_t>& out);
  // The same of one word, of any length; also for a whole text of which it does not matter how long its words are.
  void AppendWord(std::string_view word, std::vector<std::uint16_t>& out);
  void AppendAll(std::string_view text, std::vector<std::uint16_t>& out);

 private:
  static constexpr std::size_t kKeyWords = 4, kMaxRemembered = 31, kMaxIds = 15;
  using Key = std::array<std::uint64_t, kKeyWords>;  // the bytes of the word, zeros, and in the last byte its length
  struct alignas(kRememberedBytes) Remembered {
    Key key{};
    std::array<std::uint16_t, kMaxIds> ids{};
    std::uint16_t count = 0;
  };
  static_assert(sizeof(Remembered) == kRememberedBytes);
  struct Symbol {
    std::uint16_t id;
    bool alive;
    std::uint32_t previous, next;
  };
  struct Candidate {
    std::uint32_t rank, at;
    std::uint16_t left, right;
    bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
  };

  static Key KeyOf(std::string_view word, std::size_t readable);
  std::size_t PlaceOf(const Key& key) const;
  // The tokens of a word in `merged_`.
  void MergeWord(std::string_view word);
  void MergeShort(std::string_view word);
  void MergeLong(std::string_view word);

  const BpeTables& tables_;
  std::vector<Remembered> remembered_;  // pairs of neighbours share what hashes to either
  std::vector<std::uint16_t> merged_;
  std::vector<std::uint16_t> ready_;  // tokens that are yet to be appended
  std::vector<Symbol> symbols_;
  std::vector<Candidate> candidates_;
};

}  // namespace assay
