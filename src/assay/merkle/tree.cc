#include "assay/merkle/tree.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/merkle/sha256_lanes.h"

namespace assay {
namespace {

constexpr std::uint8_t kLeafPrefix = 0x00;
constexpr std::uint8_t kNodePrefix = 0x01;

// What one thread hashes at a time. A power of two, so that every piece of a tensor is a whole subtree: its leaf hashes are needed
// until the piece is done and no longer, and fit in the first-level cache.
constexpr std::size_t kPieceLeaves = 256;
constexpr std::size_t kPieceBytes = kPieceLeaves * kLeafBytes;

std::size_t PieceCount(ByteSpan tensor) { return (tensor.size() + kPieceBytes - 1) / kPieceBytes; }

// The root over leaf hashes, of which there is at least one; overwrites them. Pairing neighbours and moving an odd last one up
// unchanged, level by level, gives the same tree as RFC 6962's recursive split.
Digest Reduce(std::span<Digest> level) {
  static_assert(sizeof(Digest) == 32);  // so that two neighbours are the 64 bytes that their parent hashes
  for (std::size_t count = level.size(); count > 1; count = (count + 1) / 2) {
    const auto* pairs = reinterpret_cast<const std::uint8_t*>(level.data());
    sha256::HashEach(kNodePrefix, {pairs, 64, 64, count / 2}, level.data());
    if (count % 2 == 1) level[count / 2] = level[count - 1];
  }
  return level[0];
}

Digest PieceRoot(ByteSpan tensor, std::size_t index) {
  const std::size_t begin = index * kPieceBytes;
  const ByteSpan piece = tensor.subspan(begin, std::min(kPieceBytes, tensor.size() - begin));
  Digest hashes[kPieceLeaves];
  const std::span<Digest> leaves(hashes, CountLeaves(piece.size()));
  HashLeaves(piece, leaves);
  return Reduce(leaves);
}

}  // namespace

Digest LeafHash(ByteSpan data) {
  Sha256 hash;
  hash.Update({&kLeafPrefix, 1});
  hash.Update(data);
  return hash.Finish();
}

Digest NodeHash(const Digest& left, const Digest& right) {
  std::array<std::uint8_t, 65> bytes{kNodePrefix};
  std::copy(left.bytes.begin(), left.bytes.end(), bytes.begin() + 1);
  std::copy(right.bytes.begin(), right.bytes.end(), bytes.begin() + 33);
  return HashBytes(bytes);
}

Digest TreeRoot(std::vector<Digest> leaves) { return leaves.empty() ? HashBytes({}) : Reduce(leaves); }

void HashLeaves(ByteSpan bytes, std::span<Digest> out) {
  ASSAY_CHECK(out.size() == CountLeaves(bytes.size()));
  const std::size_t whole = bytes.size() / kLeafBytes;
  sha256::HashEach(kLeafPrefix, {bytes.data(), kLeafBytes, kLeafBytes, whole}, out.data());
  if (whole < out.size()) out[whole] = LeafHash(bytes.subspan(whole * kLeafBytes));
}

Digest TensorRoot(ByteSpan bytes) {
  std::vector<Digest> pieces(PieceCount(bytes));
  for (std::size_t i = 0; i < pieces.size(); ++i) pieces[i] = PieceRoot(bytes, i);
  return TreeRoot(std::move(pieces));
}

std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors, ThreadPool& pool) {
  std::vector<std::size_t> first(tensors.size() + 1, 0);  // of each tensor, among the pieces of all
  for (std::size_t t = 0; t < tensors.size(); ++t) first[t + 1] = first[t] + PieceCount(tensors[t]);
  std::vector<Digest> pieces(first.back());
  pool.ParallelFor(static_cast<std::int64_t>(pieces.size()), 1, [&](std::int64_t begin, std::int64_t, int) {
    const auto piece = static_cast<std::size_t>(begin);
    const auto t = static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), piece) - first.begin()) - 1;
    pieces[piece] = PieceRoot(tensors[t], piece - first[t]);
  });
  std::vector<Digest> roots(tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const auto from = pieces.begin() + static_cast<std::ptrdiff_t>(first[t]);
    roots[t] = TreeRoot({from, pieces.begin() + static_cast<std::ptrdiff_t>(first[t + 1])});
  }
  return roots;
}

Bytes EntryBytes(std::string_view tag, const TensorEntry& entry) {
  ByteWriter out;
  out.String(tag);
  out.String(entry.name);
  out.U8(static_cast<std::uint8_t>(entry.type.dtype));
  out.U8(static_cast<std::uint8_t>(entry.type.shape.rank()));
  for (std::int64_t extent : entry.type.shape.dims()) out.I64(extent);
  out.Raw(entry.root.bytes);
  return out.Take();
}

Digest EntryHash(std::string_view tag, const TensorEntry& entry) { return LeafHash(EntryBytes(tag, entry)); }

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
