// The tiles of a C2SP tlog: which files a log of a given size has, and what is in them (docs/formats/log.md). Pure functions;
// thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/merkle/sha256.h"

namespace assay {

inline constexpr std::uint64_t kTileWidth = 256;
inline constexpr std::size_t kMaxEntryBytes = 0xffff;  // what the length in front of an entry can say

struct TileFile {
  std::string path;  // under the log's directory: "tile/0/x001/234", "tile/entries/000.p/7"
  Bytes content;
};

// The files that a log of these entries has and one of its first `old_size` entries had not: full tiles, and partial ones at the
// right edge. In the order of TilePaths. Every entry is hashed, also the old ones.
std::vector<TileFile> NewTiles(std::span<const Bytes> entries, std::uint64_t old_size);
// The paths of all tiles of a log of that size: those of hashes from level 0 up, then those of entries; each kind from left to
// right.
std::vector<std::string> TilePaths(std::uint64_t size);
// The paths of the entry bundles of a log of that size, in order, and how many entries each holds.
struct Bundle {
  std::string path;
  std::uint64_t entries = 0;
};
std::vector<Bundle> Bundles(std::uint64_t size);

// The entries of one bundle, exactly `count`; trailing bytes are refused.
Result<std::vector<Bytes>> ParseBundle(ByteSpan bundle, std::uint64_t count, std::string_view what);
Bytes EncodeBundle(std::span<const Bytes> entries);  // each at most kMaxEntryBytes

}  // namespace assay
