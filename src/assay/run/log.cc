#include "assay/run/log.h"

#include <algorithm>
#include <set>

#include "assay/base/check.h"
#include "assay/base/file.h"
#include "assay/merkle/tiles.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::string_view kCheckpointFile = "checkpoint";
constexpr std::uint64_t kMaxCheckpointBytes = 1 << 16;
constexpr std::uint64_t kMaxTileBytes = kTileWidth * 1024;

std::vector<Bytes> Encoded(const std::vector<LogEntry>& entries) {
  std::vector<Bytes> encoded;
  encoded.reserve(entries.size());
  for (const LogEntry& entry : entries) encoded.push_back(Encode(entry));
  return encoded;
}

std::string ParentOf(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

// Of entries whose root is not the checkpoint's, the bundle whose hashes are others than its tile has; the directory when there is
// none.
std::string StrangeBundle(const std::string& directory, std::span<const Bytes> entries) {
  const std::vector<TileFile> tiles = NewTiles(entries, 0);  // those of level 0 come first, one for each bundle
  const std::vector<Bundle> bundles = Bundles(entries.size());
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    const auto found = ReadFile(JoinPath(directory, tiles[i].path), kMaxTileBytes);
    if (found && *found != tiles[i].content) return JoinPath(directory, bundles[i].path);
  }
  return directory;
}

Result<std::vector<Bytes>> ReadBundles(const std::string& directory, std::uint64_t size) {
  std::vector<Bytes> encoded;
  for (const Bundle& bundle : Bundles(size)) {
    const std::string path = JoinPath(directory, bundle.path);
    ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxTileBytes));
    ASSAY_ASSIGN(std::vector<Bytes> entries, ParseBundle(bytes, bundle.entries, path));
    for (Bytes& entry : entries) encoded.push_back(std::move(entry));
  }
  return encoded;
}

Status CheckRoot(const std::string& directory, std::span<const Bytes> entries, const Digest& expected) {
  std::vector<Digest> hashes;
  hashes.reserve(entries.size());
  for (const Bytes& entry : entries) hashes.push_back(LeafHash(entry));
  const Digest root = TreeRoot(std::move(hashes));
  if (root == expected) return {};
  return Err("{}: the entries' root is {}, the checkpoint says {}", StrangeBundle(directory, entries), root.hex(),
             expected.hex());
}

}  // namespace

std::string LogOrigin(const VerifyKey& signer, const Digest& job) { return fmt::format("{}/{}", signer.name(), job.hex()); }

bool RunLog::Exists(const std::string& directory) { return assay::Exists(JoinPath(directory, kCheckpointFile)); }

Result<RunLog> RunLog::Read(const std::string& directory, const VerifyKey& signer, const Digest& trajectory,
                            std::uint64_t max_entries) {
  auto log = Examine(directory, signer, trajectory, max_entries);
  if (!log) return tl::unexpected(std::move(log).error().error);
  return std::move(*log);
}

Result<Checkpoint> RunLog::Head(const std::string& directory, const VerifyKey& signer) {
  const std::string path = JoinPath(directory, kCheckpointFile);
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxCheckpointBytes));
  return OpenCheckpoint({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, signer, path);
}

tl::expected<RunLog, LogFault> RunLog::Examine(const std::string& directory, const VerifyKey& signer, const Digest& trajectory,
                                               std::uint64_t max_entries) {
  const auto fault = [](const Error& error, bool of_signer) { return tl::unexpected(LogFault{error, of_signer}); };
  const auto checkpoint = Head(directory, signer);
  if (!checkpoint) return fault(checkpoint.error(), false);
  if (checkpoint->size > max_entries) {
    const std::string message = fmt::format("{}: says {} entries, expected at most {}", JoinPath(directory, kCheckpointFile),
                                            checkpoint->size, max_entries);
    return fault({.message = message}, true);
  }
  auto log = Entries(directory, *checkpoint, trajectory);
  if (!log) return log;
  if (const Status tiles = log->CheckTiles(directory); !tiles) return fault(tiles.error(), false);
  log->written_ = log->entries_.size();
  return log;
}

tl::expected<RunLog, LogFault> RunLog::Entries(const std::string& directory, const Checkpoint& head, const Digest& trajectory) {
  const auto fault = [](const Error& error, bool of_signer) { return tl::unexpected(LogFault{error, of_signer}); };
  const auto encoded = ReadBundles(directory, head.size);
  if (!encoded) return fault(encoded.error(), false);
  if (const Status right = CheckRoot(directory, *encoded, head.root); !right) return fault(right.error(), false);
  RunLog log(trajectory);
  log.checkpoint_ = head;
  if (const Status chained = log.AppendSigned(directory, *encoded); !chained) return fault(chained.error(), true);
  return log;
}

Status RunLog::CheckTiles(const std::string& directory) const {
  for (const TileFile& tile : NewTiles(Encoded(entries_), 0)) {
    const std::string path = JoinPath(directory, tile.path);
    ASSAY_ASSIGN(const Bytes found, ReadFile(path, kMaxTileBytes));
    if (found != tile.content) return Err("{}: is not the tile of the log's entries", path);
  }
  return {};
}

// Entries whose root is signed.
Status RunLog::AppendSigned(const std::string& directory, std::span<const Bytes> entries) {
  const std::vector<Bundle> bundles = Bundles(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string path = JoinPath(directory, bundles[i / kTileWidth].path);
    ASSAY_ASSIGN(const LogEntry decoded, DecodeLogEntry(entries[i], path));
    const Digest previous = hashes_.empty() ? trajectory_ : hashes_.back();
    if (decoded.previous != previous) {
      return Err("{}: the entry of step {} does not follow from {}", path, decoded.step,
                 hashes_.empty() ? "this job" : "the entry before it");
    }
    Append(decoded);
  }
  return {};
}

Digest RunLog::root() const { return TreeRoot(hashes_); }

LogEntry RunLog::Next(std::int64_t step, const Digest& state_root, const Digest& batch_root, std::uint32_t loss_bits,
                      const std::optional<Digest>& rounding_root) const {
  return {.step = step,
          .state_root = state_root,
          .batch_root = batch_root,
          .loss_bits = loss_bits,
          .rounding_root = rounding_root,
          .previous = hashes_.empty() ? trajectory_ : hashes_.back()};
}

void RunLog::Append(const LogEntry& entry) {
  ASSAY_CHECK(entry.previous == (hashes_.empty() ? trajectory_ : hashes_.back()));
  entries_.push_back(entry);
  hashes_.push_back(HashOf(entry));
}

void RunLog::Truncate(std::size_t size) {
  if (size >= entries_.size()) return;
  entries_.resize(size);
  hashes_.resize(size);
  // A full tile of the longer log may hold entries that are gone.
  written_ = std::min(written_, size / kTileWidth * kTileWidth);
}

Status RunLog::Write(const std::string& directory, const std::string& origin, const SigningKey& key) {
  const Checkpoint next{.origin = origin, .size = entries_.size(), .root = root()};
  if (next != checkpoint_) {
    for (const TileFile& tile : NewTiles(Encoded(entries_), written_)) {
      const std::string path = JoinPath(directory, tile.path);
      ASSAY_TRY(MakeDirectories(ParentOf(path)));
      ASSAY_TRY(WriteFileAtomic(path, tile.content));
    }
    ASSAY_TRY(WriteFileAtomic(JoinPath(directory, kCheckpointFile), AsBytes(SignCheckpoint(next, key))));
    checkpoint_ = next;
    written_ = entries_.size();
  }
  return Tidy(directory);
}

Status RunLog::Tidy(const std::string& directory) const {
  if (!IsDirectory(JoinPath(directory, "tile"))) return {};
  const std::vector<std::string> paths = TilePaths(checkpoint_.size);
  const std::set<std::string> needed(paths.begin(), paths.end());
  std::set<std::string> changed;
  ASSAY_ASSIGN(const std::vector<std::string> present, ListTree(JoinPath(directory, "tile")));
  for (const std::string& name : present) {
    const std::string path = JoinPath("tile", name);
    if (needed.contains(path)) continue;
    ASSAY_TRY(RemoveFile(JoinPath(directory, path)));
    changed.insert(ParentOf(JoinPath(directory, path)));
  }
  for (const std::string& parent : changed) ASSAY_TRY(SyncDirectory(parent));
  return {};
}

}  // namespace assay
