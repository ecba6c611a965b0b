#include "assay/merkle/tree.h"

#include <algorithm>

#include "assay/base/check.h"

namespace assay {
namespace {

std::size_t LeafCount(ByteSpan bytes) { return (bytes.size() + kLeafBytes - 1) / kLeafBytes; }

ByteSpan Leaf(ByteSpan bytes, std::size_t index) {
  const std::size_t begin = index * kLeafBytes;
  return bytes.subspan(begin, std::min(kLeafBytes, bytes.size() - begin));
}

}  // namespace

Digest LeafHash(ByteSpan data) {
  static constexpr std::uint8_t kPrefix[] = {0x00};
  Sha256 hash;
  hash.Update(kPrefix);
  hash.Update(data);
  return hash.Finish();
}

Digest NodeHash(const Digest& left, const Digest& right) {
  std::array<std::uint8_t, 65> bytes{0x01};
  std::copy(left.bytes.begin(), left.bytes.end(), bytes.begin() + 1);
  std::copy(right.bytes.begin(), right.bytes.end(), bytes.begin() + 33);
  return HashBytes(bytes);
}

// Pairing neighbours and moving an odd last one up unchanged, level by level, gives the same tree as RFC 6962's recursive split.
Digest TreeRoot(std::vector<Digest> leaves) {
  if (leaves.empty()) return HashBytes({});
  for (std::size_t count = leaves.size(); count > 1; count = (count + 1) / 2) {
    for (std::size_t i = 0; i + 1 < count; i += 2) leaves[i / 2] = NodeHash(leaves[i], leaves[i + 1]);
    if (count % 2 == 1) leaves[count / 2] = leaves[count - 1];
  }
  return leaves[0];
}

Digest TensorRoot(ByteSpan bytes) {
  std::vector<Digest> leaves(LeafCount(bytes));
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i] = LeafHash(Leaf(bytes, i));
  return TreeRoot(std::move(leaves));
}

std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors, ThreadPool& pool) {
  std::vector<std::size_t> first(tensors.size() + 1, 0);  // of each tensor, among the leaves of all
  for (std::size_t t = 0; t < tensors.size(); ++t) first[t + 1] = first[t] + LeafCount(tensors[t]);
  std::vector<Digest> leaves(first.back());
  pool.ParallelFor(static_cast<std::int64_t>(leaves.size()), 64, [&](std::int64_t begin, std::int64_t end, int) {
    const auto leaf = static_cast<std::size_t>(begin);
    std::size_t t = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), leaf) - first.begin()) - 1;
    for (std::size_t i = leaf; i < static_cast<std::size_t>(end); ++i) {
      while (i >= first[t + 1]) ++t;
      leaves[i] = LeafHash(Leaf(tensors[t], i - first[t]));
    }
  });
  std::vector<Digest> roots(tensors.size());
  pool.ParallelFor(static_cast<std::int64_t>(tensors.size()), 1, [&](std::int64_t begin, std::int64_t, int) {
    const auto t = static_cast<std::size_t>(begin);
    const auto from = leaves.begin() + static_cast<std::ptrdiff_t>(first[t]);
    roots[t] = TreeRoot({from, leaves.begin() + static_cast<std::ptrdiff_t>(first[t + 1])});
  });
  return roots;
}

Digest EntryHash(std::string_view tag, const TensorEntry& entry) {
  ByteWriter out;
  out.String(tag);
  out.String(entry.name);
  out.U8(static_cast<std::uint8_t>(entry.type.dtype));
  out.U8(static_cast<std::uint8_t>(entry.type.shape.rank()));
  for (std::int64_t extent : entry.type.shape.dims()) out.I64(extent);
  out.Raw(entry.root.bytes);
  return LeafHash(out.bytes());
}

Digest EntriesRoot(std::string_view tag, std::span<const TensorEntry> entries) {
  std::vector<Digest> leaves;
  leaves.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSAY_CHECK(i == 0 || entries[i - 1].name < entries[i].name);
    leaves.push_back(EntryHash(tag, entries[i]));
  }
  return TreeRoot(std::move(leaves));
}

}  // namespace assay
