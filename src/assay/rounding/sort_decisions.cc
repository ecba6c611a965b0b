#include "assay/rounding/sort_decisions.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace assay::rounding {
namespace {

constexpr std::size_t kFew = 512;
constexpr int kBucketBits = 10;  // of a position, counted from the highest that is used

void SortRange(std::vector<Decision>& decisions, std::size_t begin, std::size_t end) {
  const auto first = decisions.begin() + static_cast<std::ptrdiff_t>(begin);
  std::ranges::sort(first, decisions.begin() + static_cast<std::ptrdiff_t>(end), {}, &Decision::position);
}

}  // namespace

// Into buckets by their highest bits, then bucket by bucket.
void SortByPosition(std::vector<Decision>& decisions, std::vector<Decision>& scratch, ThreadPool* pool) {
  if (std::ranges::is_sorted(decisions, {}, &Decision::position)) return;
  if (decisions.size() < kFew) return SortRange(decisions, 0, decisions.size());
  std::uint64_t all = 0;
  for (const Decision& decision : decisions) all |= decision.position;
  const int shift = std::max(0, static_cast<int>(std::bit_width(all)) - kBucketBits);
  constexpr std::size_t kBuckets = std::size_t{1} << kBucketBits;
  std::vector<std::size_t> ends(kBuckets + 1);  // of bucket b - 1
  for (const Decision& decision : decisions) ++ends[(decision.position >> shift) + 1];
  for (std::size_t b = 1; b <= kBuckets; ++b) ends[b] += ends[b - 1];
  scratch.resize(decisions.size());
  std::vector<std::size_t> next(ends.begin(), ends.end() - 1);
  for (const Decision& decision : decisions) scratch[next[decision.position >> shift]++] = decision;
  decisions.swap(scratch);
  const auto sort = [&](std::int64_t begin, std::int64_t end, int) {
    for (auto b = static_cast<std::size_t>(begin); b < static_cast<std::size_t>(end); ++b)
      SortRange(decisions, ends[b], ends[b + 1]);
  };
  if (pool == nullptr) return sort(0, kBuckets, 0);
  pool->ParallelFor(kBuckets, 8, sort);
}

}  // namespace assay::rounding
