#include "assay/data/root.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::string_view kArrayTag = "assay/array/1";
constexpr std::int64_t kGrain = 256;  // leaves, 1 MiB

}  // namespace

std::vector<Digest> LeafHashes(const DataArray& array, ThreadPool* pool) { return LeafHashes(array, pool, Allowance()); }

std::vector<Digest> LeafHashes(const DataArray& array, ThreadPool* pool, const Allowance& allowance) {
  std::vector<Digest> leaves(CountLeaves(static_cast<std::size_t>(array.size())));
  const auto hash = [&](std::int64_t begin, std::int64_t end, int) {
    Bytes scratch;
    for (std::int64_t i = begin; i < end && !allowance.stopped(); i += kGrain) {
      const std::int64_t last = std::min(i + kGrain, end);
      const std::uint64_t first = static_cast<std::uint64_t>(i) * kLeafBytes;
      const std::uint64_t past = std::min<std::uint64_t>(static_cast<std::uint64_t>(last) * kLeafBytes, array.size());
      HashLeaves(array.Fetch(first, past, scratch),
                 std::span(leaves).subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(last - i)));
    }
  };
  const auto count = static_cast<std::int64_t>(leaves.size());
  if (pool != nullptr) {
    pool->ParallelFor(count, kGrain, hash);
  } else {
    hash(0, count, 0);
  }
  return leaves;
}

Digest DataRoot(const DataDescriptor& descriptor, std::span<const Digest> array_roots) {
  const std::vector<ArraySpec> specs = ArraysOf(descriptor);
  ASSAY_CHECK(specs.size() == array_roots.size());
  std::vector<Digest> leaves = {LeafHash(Encode(descriptor))};
  for (std::size_t i = 0; i < specs.size(); ++i) {
    leaves.push_back(EntryHash(kArrayTag, {specs[i].name, specs[i].type, array_roots[i]}));
  }
  return TreeRoot(std::move(leaves));
}

Digest DataRoot(const DataPart& part, ThreadPool* pool) {
  Allowance everything;
  return DataRoot(part, pool, everything).value();
}

Result<Digest> DataRoot(const DataPart& part, ThreadPool* pool, Allowance& allowance) {
  std::vector<Digest> roots;
  for (const DataArray& array : part.arrays) {
    ASSAY_ASSIGN(const auto hashes, allowance.Borrow(CountLeaves(static_cast<std::size_t>(array.size())) * sizeof(Digest)));
    roots.push_back(TreeRoot(LeafHashes(array, pool, allowance)));
  }
  ASSAY_TRY(allowance.Check());
  return DataRoot(part.descriptor, roots);
}

}  // namespace assay
