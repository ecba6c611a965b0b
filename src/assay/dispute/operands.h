// Operands: the input elements that one element of an output of a rounded job depends on, as a list of 32-bit words.
//
// They lie scattered over many blocks of the inputs (a column of weights has one word in each), and a referee who opened the blocks would read a thousand
// words for each that it needs. So parties agree on the list: first on the digests of its chunks, then one of them tells the words; where a digest differs
// both tell that chunk, and one block of an input says whose word is false. The list is that of the pieces of the op's small form (ops/narrow.h), in their
// order, and the small op is what is evaluated. Immutable; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/ops/narrow.h"
#include "assay/semantics/ref/derivation.h"

namespace assay::dispute {

class Operands {
 public:
  static constexpr std::size_t kChunk = ref::kMaxParts;  // words, so that one answer holds them
  static constexpr std::size_t kDigestWords = 8;

  // None: the element depends on a few words, and nobody lists them.
  static std::optional<Operands> Of(const OpInstance& op, int output, std::int64_t element);

  const ops::Narrowed& narrowed() const { return narrowed_; }
  std::size_t words() const { return ends_.empty() ? 0 : ends_.back(); }
  std::size_t chunks() const { return (words() + kChunk - 1) / kChunk; }
  std::size_t WordsIn(std::size_t chunk) const;
  struct Place {
    std::uint32_t input = 0;  // of the op
    std::uint64_t word = 0;   // of it
  };
  Place At(std::size_t chunk, std::size_t word) const;

  // `in` point at element 0 of each input of the op, `out` at that of each input of the small op.
  std::vector<ref::Value> Gather(std::size_t chunk, std::span<const void* const> in) const;
  void Scatter(std::size_t chunk, std::span<const ref::Value> words, std::span<ref::Value* const> out) const;

  // A chunk's digest, as words.
  static std::vector<ref::Value> DigestOf(std::span<const ref::Value> words);

  // What who has the inputs answers: with an empty path the digests of all chunks, with one number the words of that chunk.
  Result<std::vector<ref::Value>> Answer(const ref::Path& path, std::span<const void* const> in) const;

 private:
  explicit Operands(ops::Narrowed narrowed);
  // Calls visit(i, piece, k) for each word i of a chunk, which is element k of the piece.
  template <class Visit>
  void ForEach(std::size_t chunk, const Visit& visit) const;

  ops::Narrowed narrowed_;
  std::vector<std::size_t> ends_;  // of each piece in the list
};

}  // namespace assay::dispute
