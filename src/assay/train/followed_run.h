// FollowedRun: a finished run of the same job, whose rounding decisions another run takes for its own.
//
// Nothing of it is taken on trust but that its decisions are admissible, which shows as they are followed: every log is compared with the entry of the signed
// log that commits to it before it is handed out. Not synchronised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/run/log.h"
#include "assay/run/receipt.h"
#include "assay/run/rounding_logs.h"
#include "assay/train/prepare.h"

namespace assay {

class FollowedRun {
 public:
  // An error: it is of another job, not finished, or damaged.
  static Result<FollowedRun> Open(const RunDirectory& run, const PreparedJob& prepared);

  const std::string& path() const { return path_; }
  const Follows& follows() const { return follows_; }
  // The rounding log of the step that leads to `step`. An error: it is not the one that the entry commits to.
  Result<Bytes> Read(std::int64_t step);

 private:
  FollowedRun(std::string path, Follows follows, std::vector<LogEntry> entries, std::int64_t commit_every, RoundingLogs logs)
      : path_(std::move(path)),
        follows_(std::move(follows)),
        entries_(std::move(entries)),
        commit_every_(commit_every),
        logs_(std::move(logs)) {}
  Status Compare(std::size_t entry);

  std::string path_;
  Follows follows_;
  std::vector<LogEntry> entries_;
  std::int64_t commit_every_;
  RoundingLogs logs_;
  std::size_t compared_ = 0;          // the entry whose logs were compared last
  std::vector<RoundingLeaf> leaves_;  // these logs
};

}  // namespace assay
