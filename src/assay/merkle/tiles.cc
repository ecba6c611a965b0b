#include "assay/merkle/tiles.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

// Consecutive items that share a file: the tile with this index holds `width` of them.
struct Tile {
  std::uint64_t index = 0;
  std::uint64_t width = kTileWidth;
};

// The tiles over `count` items that were not there over the first `old_count`. A partial tile is another file for each width.
std::vector<Tile> TilesOver(std::uint64_t count, std::uint64_t old_count) {
  std::vector<Tile> tiles;
  if (count == old_count) return tiles;
  for (std::uint64_t i = old_count / kTileWidth; i < count / kTileWidth; ++i) tiles.push_back({i, kTileWidth});
  if (count % kTileWidth != 0) tiles.push_back({count / kTileWidth, count % kTileWidth});
  return tiles;
}

// "tile/LEVEL/x001/x234/067", with ".p/W" behind a partial one.
std::string PathOf(std::string_view level, const Tile& tile) {
  std::string groups = fmt::format("{:03}", tile.index % 1000);
  for (std::uint64_t rest = tile.index / 1000; rest > 0; rest /= 1000) groups = fmt::format("x{:03}/{}", rest % 1000, groups);
  const std::string partial = tile.width == kTileWidth ? "" : fmt::format(".p/{}", tile.width);
  return fmt::format("tile/{}/{}{}", level, groups, partial);
}

template <class T>
std::span<const T> Part(std::span<const T> items, const Tile& tile) {
  return items.subspan(tile.index * kTileWidth, tile.width);
}

// The hashes over each full tile of the level below.
std::vector<Digest> NextLevel(const std::vector<Digest>& level) {
  std::vector<Digest> next;
  for (std::size_t begin = 0; begin + kTileWidth <= level.size(); begin += kTileWidth) {
    const auto from = level.begin() + static_cast<std::ptrdiff_t>(begin);
    next.push_back(TreeRoot({from, from + static_cast<std::ptrdiff_t>(kTileWidth)}));
  }
  return next;
}

Bytes Concatenate(std::span<const Digest> hashes) {
  Bytes bytes;
  bytes.reserve(hashes.size() * 32);
  for (const Digest& hash : hashes) bytes.insert(bytes.end(), hash.bytes.begin(), hash.bytes.end());
  return bytes;
}

}  // namespace

std::vector<TileFile> NewTiles(std::span<const Bytes> entries, std::uint64_t old_size) {
  ASSAY_CHECK(old_size <= entries.size());
  std::vector<Digest> hashes(entries.size());
  std::transform(entries.begin(), entries.end(), hashes.begin(), [](const Bytes& entry) { return LeafHash(entry); });
  std::vector<TileFile> files;
  std::uint64_t old_count = old_size;
  for (int level = 0; !hashes.empty(); ++level, old_count /= kTileWidth) {
    const std::string name = std::to_string(level);
    for (const Tile& tile : TilesOver(hashes.size(), old_count)) {
      files.push_back({PathOf(name, tile), Concatenate(Part<Digest>(hashes, tile))});
    }
    hashes = NextLevel(hashes);
  }
  for (const Tile& tile : TilesOver(entries.size(), old_size)) {
    files.push_back({PathOf("entries", tile), EncodeBundle(Part<Bytes>(entries, tile))});
  }
  return files;
}

std::vector<std::string> TilePaths(std::uint64_t size) {
  std::vector<std::string> paths;
  int level = 0;
  for (std::uint64_t count = size; count > 0; count /= kTileWidth, ++level) {
    for (const Tile& tile : TilesOver(count, 0)) paths.push_back(PathOf(std::to_string(level), tile));
  }
  for (Bundle& bundle : Bundles(size)) paths.push_back(std::move(bundle.path));
  return paths;
}

std::vector<Bundle> Bundles(std::uint64_t size) {
  std::vector<Bundle> bundles;
  for (const Tile& tile : TilesOver(size, 0)) bundles.push_back({PathOf("entries", tile), tile.width});
  return bundles;
}

Result<std::vector<Bytes>> ParseBundle(ByteSpan bundle, std::uint64_t count, std::string_view what) {
  // Each entry has two bytes at least, which bounds what `count` can make this allocate.
  if (count > bundle.size() / 2) return Err("{}: has {} bytes, too few for {} entries", what, bundle.size(), count);
  std::vector<Bytes> entries;
  entries.reserve(count);
  ByteReader in(bundle, what);
  for (std::uint64_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(const ByteSpan length, in.Raw(2));
    ASSAY_ASSIGN(const ByteSpan entry, in.Raw(static_cast<std::size_t>(length[0] << 8 | length[1])));
    entries.emplace_back(entry.begin(), entry.end());
  }
  ASSAY_TRY(in.End());
  return entries;
}

Bytes EncodeBundle(std::span<const Bytes> entries) {
  Bytes bytes;
  for (const Bytes& entry : entries) {
    ASSAY_CHECK(entry.size() <= kMaxEntryBytes);
    bytes.push_back(static_cast<std::uint8_t>(entry.size() >> 8));
    bytes.push_back(static_cast<std::uint8_t>(entry.size()));
    bytes.insert(bytes.end(), entry.begin(), entry.end());
  }
  return bytes;
}

}  // namespace assay
