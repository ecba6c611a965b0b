// Operands: the input elements that one element of an output of a rounded job depends on, as a list of 32-bit words.
//
// They lie scattered over many blocks of the inputs (a column of weights has one word in each), and a referee who opened the blocks would read a thousand
// words for each that it needs. So parties agree on the list: first on the digests of its chunks, then one of them tells the words; where a digest differs
// both tell that chunk, and one block of an input says whose word is false. The order is that of the op's declared dependencies. Immutable; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "assay/backend/ref/derivation.h"
#include "assay/base/result.h"
#include "assay/graph/op_def.h"
#include "assay/merkle/sha256.h"

namespace assay::dispute {

class Operands {
 public:
  static constexpr std::size_t kChunk = ref::kMaxParts;               // words, so that one answer holds them
  static constexpr std::uint64_t kMaxWords = std::uint64_t{1} << 20;  // 4 MiB
  static constexpr std::size_t kDigestWords = 8;

  // None: there are more than kMaxWords, or not all of them are words.
  static std::optional<Operands> Of(const OpInstance& op, std::span<const InputRange> needs);

  std::size_t chunks() const { return (places_.size() + kChunk - 1) / kChunk; }
  std::size_t WordsIn(std::size_t chunk) const;
  struct Place {
    std::uint32_t input = 0;
    std::uint64_t word = 0;  // of it
  };
  const Place& At(std::size_t chunk, std::size_t word) const { return places_[chunk * kChunk + word]; }

  // `in` and `out` point at element 0 of each input.
  std::vector<ref::Value> Gather(std::size_t chunk, std::span<const void* const> in) const;
  void Scatter(std::size_t chunk, std::span<const ref::Value> words, std::span<void* const> out) const;

  // A chunk's digest, as words.
  static std::vector<ref::Value> DigestOf(std::span<const ref::Value> words);

  // What who has the inputs answers: with an empty path the digests of all chunks, with one number the words of that chunk.
  Result<std::vector<ref::Value>> Answer(const ref::Path& path, std::span<const void* const> in) const;

 private:
  std::vector<Place> places_;
};

}  // namespace assay::dispute
