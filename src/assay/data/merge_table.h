// MergeTable: which pairs of tokens merge, into what, and in which order; one look-up reads one or two neighbouring places in memory.
// Immutable once built; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay {

struct Merge {
  std::uint16_t left = 0, right = 0, result = 0;
};

class MergeTable {
 public:
  static constexpr std::uint16_t kNone = 0xffff;  // the rank of a pair that does not merge
  struct Found {
    std::uint16_t rank = kNone, result = 0;
  };

  MergeTable() : MergeTable(std::span<const Merge>()) {}
  // By ascending rank; fewer than kNone, no pair twice.
  explicit MergeTable(std::span<const Merge> merges);

  Found Find(std::uint16_t left, std::uint16_t right) const {
    const std::uint32_t pair = PairOf(left, right);
    for (std::size_t at = PlaceOf(pair);; at = (at + 1) & mask_) {
      const Place& place = places_[at];
      if (place.found.rank == kNone || place.pair == pair) return place.found;
    }
  }

 private:
  struct Place {
    std::uint32_t pair = 0;
    Found found;
  };
  static std::uint32_t PairOf(std::uint16_t left, std::uint16_t right) { return std::uint32_t{left} << 16 | right; }
  std::size_t PlaceOf(std::uint32_t pair) const {
    return static_cast<std::size_t>((pair * std::uint64_t{0x9e3779b97f4a7c15}) >> 32) & mask_;
  }

  std::vector<Place> places_;  // a power of two, at most half of them taken
  std::size_t mask_ = 0;
};

}  // namespace assay
