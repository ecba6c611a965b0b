// FollowedRun: a finished run of the same job, whose rounding decisions another run takes for its own. It may be a liar's: nothing that it says is used before
// it is compared with what its signer has signed.
//
// Receipt and log are checked when it is made; the rounding logs of an entry's steps against the entry's rounding root, each log against its leaf. What decisions
// say is for whoever follows them to judge. Not synchronised.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/run/log.h"
#include "assay/run/receipt.h"
#include "assay/run/rounding_logs.h"
#include "assay/train/prepare.h"

namespace assay {

// Where the rounding logs of a followed run come from. What it gives is not trusted.
class RoundingSource {
 public:
  virtual ~RoundingSource() = default;
  // What entry `entry`, which covers steps from + 1 .. to, commits to of their logs.
  virtual Result<std::vector<RoundingLeaf>> Leaves(std::int64_t entry, std::int64_t from, std::int64_t to) = 0;
  // The log of the step that leads to `step`, which should have so many bytes.
  virtual Result<Bytes> Read(std::int64_t step, std::uint64_t bytes) = 0;
  // Reading ends with an error soon after this is true. It is asked from another thread.
  virtual void StopWhen(std::function<bool()>) {}
};

class FollowedRun {
 public:
  // A run directory. An error: it is of another job, not finished, or damaged.
  static Result<FollowedRun> Open(const RunDirectory& run, const PreparedJob& prepared);
  // `receipt`: signed by the key that it names; `entries`: what is said to be its log. `name` stands for the run in errors.
  static Result<FollowedRun> Make(std::string name, const Receipt& receipt, std::vector<LogEntry> entries,
                                  const PreparedJob& prepared, std::unique_ptr<RoundingSource> source);
  // Whether a receipt is of a run of this job that can be followed: known before anything else is asked for.
  static Status CheckReceipt(const std::string& name, const Receipt& receipt, const PreparedJob& prepared);

  const std::string& name() const { return name_; }
  const Follows& follows() const { return follows_; }
  // Whether the run says the same state, batch and loss after these steps, whatever its rounding logs say.
  bool Says(std::size_t index, const LogEntry& entry) const;
  const LogEntry& entry(std::size_t index) const { return entries_.at(index); }
  // The rounding log of the step that leads to `step`. An error: it is not shown, or not the one that the entry commits to.
  Result<Bytes> Read(std::int64_t step);
  void StopWhen(std::function<bool()> stop) { source_->StopWhen(std::move(stop)); }

 private:
  FollowedRun(std::string name, Follows follows, std::vector<LogEntry> entries, const PreparedJob& prepared,
              std::unique_ptr<RoundingSource> source);
  Status Compare(std::size_t entry);

  std::string name_;
  Follows follows_;
  std::vector<LogEntry> entries_;
  std::int64_t commit_every_;
  std::uint64_t max_log_bytes_;
  std::unique_ptr<RoundingSource> source_;
  std::size_t compared_ = 0;          // the entry whose leaves were compared last
  std::vector<RoundingLeaf> leaves_;  // these
};

// How long the rounding log of a step can be, by what the job computes.
std::uint64_t MaxRoundingLogBytes(const PreparedJob& prepared);

}  // namespace assay
