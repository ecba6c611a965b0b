#include "assay/data/merge_table.h"

#include <algorithm>
#include <bit>

#include "assay/base/check.h"

namespace assay {

MergeTable::MergeTable(std::span<const Merge> merges)
    : places_(std::bit_ceil(2 * merges.size() + 2)), mask_(places_.size() - 1) {
  ASSAY_CHECK(merges.size() < kNone);
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const Merge& merge = merges[rank];
    const std::uint32_t pair = PairOf(merge.left, merge.right);
    std::size_t at = PlaceOf(pair);
    while (places_[at].found.rank != kNone) at = (at + 1) & mask_;
    places_[at] = {pair, {static_cast<std::uint16_t>(rank), merge.result}};
  }
}

}  // namespace assay
