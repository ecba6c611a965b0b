#include "assay/rounding/sort_decisions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace assay::rounding {
namespace {

constexpr int kDigit = 11;  // bits of a position that a pass sorts by
constexpr std::size_t kFew = 512;

struct Place {
  std::uint64_t position;
  std::size_t index;
};

// Sorts by the digit at `shift`, stably.
void Pass(const std::vector<Place>& from, int shift, std::vector<Place>& to) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kDigit) - 1;
  std::array<std::size_t, std::size_t{1} << kDigit> at{};
  for (const Place& place : from) ++at[(place.position >> shift) & kMask];
  std::size_t sum = 0;
  for (std::size_t& start : at) {
    const std::size_t count = start;
    start = sum;
    sum += count;
  }
  for (const Place& place : from) to[at[(place.position >> shift) & kMask]++] = place;
}

}  // namespace

void SortByPosition(std::vector<Decision>& decisions) {
  if (std::ranges::is_sorted(decisions, {}, &Decision::position)) return;
  if (decisions.size() < kFew) {
    std::ranges::stable_sort(decisions, {}, &Decision::position);
    return;
  }
  std::vector<Place> places(decisions.size());
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    places[i] = {decisions[i].position, i};
    all |= decisions[i].position;
  }
  std::vector<Place> sorted(decisions.size());
  for (int shift = 0; shift < static_cast<int>(std::bit_width(all)); shift += kDigit) {
    Pass(places, shift, sorted);
    places.swap(sorted);
  }
  std::vector<Decision> result;
  result.reserve(decisions.size());
  for (const Place& place : places) result.push_back(decisions[place.index]);
  decisions.swap(result);
}

}  // namespace assay::rounding
