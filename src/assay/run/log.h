// RunLog: the append-only log of one run, in memory, and its files under RUN/log (docs/formats/log.md).
//
// Entries form a chain from the trajectory id; Append keeps it. Write leaves the old checkpoint with all its tiles or the new one
// with all of its own, whenever it is interrupted. Not synchronised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/run/entry.h"
#include "assay/sign/key.h"
#include "assay/sign/note.h"

namespace assay {

inline constexpr std::uint64_t kMaxLogEntries = std::uint64_t{1} << 32;  // a run has fewer than 2^32 steps

// Why a log cannot be taken, and whose fault it is: its signer's, who signed what is no log of the job; otherwise files are missing, torn or not the ones that
// were signed for, or a signature does not fit, and nobody can say who made them so.
struct LogFault {
  Error error;
  bool of_signer = false;
};

class RunLog {
 public:
  explicit RunLog(const Digest& trajectory) : trajectory_(trajectory) {}

  // Reads the log in `directory` as far as its checkpoint goes and checks all of it: signature, every tile, the tree, the chain.
  // `origin` of the checkpoint is the caller's to judge. A log of more than `max_entries` is refused unread.
  static Result<RunLog> Read(const std::string& directory, const VerifyKey& signer, const Digest& trajectory,
                             std::uint64_t max_entries = kMaxLogEntries);
  // The same for those who tell damage from guilt.
  static tl::expected<RunLog, LogFault> Examine(const std::string& directory, const VerifyKey& signer, const Digest& trajectory,
                                                std::uint64_t max_entries = kMaxLogEntries);
  // The entries that `head` commits to, which somebody else has found to be signed: their root and chain. The tiles of hashes, which follow from the entries,
  // are another question.
  static tl::expected<RunLog, LogFault> Entries(const std::string& directory, const Checkpoint& head, const Digest& trajectory);
  // The tiles of hashes are there and are those of the entries.
  Status CheckTiles(const std::string& directory) const;
  // What the signer says about the log, without reading it. An error: no such file, or not well signed.
  static Result<Checkpoint> Head(const std::string& directory, const VerifyKey& signer);
  // Whether `directory` has a checkpoint.
  static bool Exists(const std::string& directory);

  const std::vector<LogEntry>& entries() const { return entries_; }
  const Digest& trajectory() const { return trajectory_; }
  // The checkpoint that Read found or Write wrote; size 0 when there is none.
  const Checkpoint& checkpoint() const { return checkpoint_; }
  Digest root() const;

  // The entry that would follow, given what it says.
  LogEntry Next(std::int64_t step, const Digest& state_root, const Digest& batch_root, std::uint32_t loss_bits,
                const std::optional<Digest>& rounding_root = std::nullopt) const;
  void Append(const LogEntry& entry);  // its `previous` must be the last entry's hash
  void Truncate(std::size_t size);     // drops the entries from `size` on; on disk once Write is called

  // Writes what is not on disk yet, then the checkpoint, then tidies up.
  Status Write(const std::string& directory, const std::string& origin, const SigningKey& key);
  // Removes, for good, the tiles that the checkpoint does not need: partial ones of other sizes, and temporaries.
  Status Tidy(const std::string& directory) const;

 private:
  Status AppendSigned(const std::string& directory, std::span<const Bytes> entries);
  Digest trajectory_;
  std::vector<LogEntry> entries_;
  std::vector<Digest> hashes_;
  Checkpoint checkpoint_;
  std::size_t written_ = 0;  // entries whose tiles are on disk and unchanged since
};

// NAME/JOB: the origin of the log that `signer` keeps about a job.
std::string LogOrigin(const VerifyKey& signer, const Digest& job);

}  // namespace assay
