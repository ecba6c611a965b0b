#include "assay/run/rounding_shelf.h"

#include <algorithm>
#include <utility>

#include "assay/base/file.h"
#include "assay/run/rounding_logs.h"

namespace assay {

Result<RoundingShelf> RoundingShelf::Open(const std::string& directory) {
  RoundingShelf shelf;
  shelf.directory_ = directory;
  if (!IsDirectory(directory)) return shelf;
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    const auto steps = RoundingLogs::StepsIn(name);
    if (!steps) continue;
    Bundle bundle{.path = JoinPath(directory, name), .begins = {}};
    ASSAY_ASSIGN(bundle.begins, RoundingLogs::PlacesIn(bundle.path, *steps));
    shelf.bundles_.emplace(steps->first, std::move(bundle));
  }
  return shelf;
}

Result<RoundingShelf::Place> RoundingShelf::Find(std::int64_t step) const {
  const auto after = bundles_.upper_bound(step);
  if (after == bundles_.begin()) return Err("{}: has no rounding log of step {}", directory_, step);
  const auto& [first, bundle] = *std::prev(after);
  const auto at = static_cast<std::uint64_t>(step - first);
  if (at + 1 >= bundle.begins.size()) return Err("{}: has no rounding log of step {}", directory_, step);
  // Before each log stands its length.
  return Place{bundle.path, bundle.begins[at] + sizeof(std::uint32_t), bundle.begins[at + 1]};
}

Result<std::uint64_t> RoundingShelf::Size(std::int64_t step) const {
  ASSAY_ASSIGN(const Place place, Find(step));
  return place.end - place.begin;
}

Result<Bytes> RoundingShelf::Read(std::int64_t step, std::uint64_t begin, std::uint64_t bytes) const {
  ASSAY_ASSIGN(const Place place, Find(step));
  const std::uint64_t size = place.end - place.begin;
  if (begin > size) return Err("{}: the rounding log of step {} has {} bytes", directory_, step, size);
  return ReadFilePart(place.path, place.begin + begin, std::min(bytes, size - begin));
}

Result<RoundingLeaf> RoundingShelf::Leaf(std::int64_t step) const {
  ASSAY_ASSIGN(const std::uint64_t size, Size(step));
  ASSAY_ASSIGN(const Bytes log, Read(step, 0, size));
  return RoundingLeafOf(log);
}

}  // namespace assay
