// RoundingLogs: the rounding logs of a run's steps, in bundles of consecutive steps under rounding/ (docs/formats/rounding.md).
//
// Steps are added one after the other and reach the disk when Write is called, before the log entry that commits to them. What a log says is not looked at
// here. Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/run/entry.h"

namespace assay {

class RoundingLogs {
 public:
  // What `directory` holds; it need not exist.
  static Result<RoundingLogs> Open(const std::string& directory);

  // The log of the step that leads to `step`. The next is that of `step` + 1.
  void Add(std::int64_t step, Bytes log);
  std::size_t pending_bytes() const { return pending_bytes_; }
  Status Write();

  // The log of the step that leads to `step`, from disk or not yet there.
  Result<Bytes> Read(std::int64_t step);
  // What an entry commits to of the logs of steps from + 1 .. to.
  Result<std::vector<RoundingLeaf>> Leaves(std::int64_t from, std::int64_t to);
  // Forgets the logs of all steps after `step`.
  Status RemoveAfter(std::int64_t step);

  // The steps of a bundle by its file's name.
  struct Steps {
    std::int64_t first = 0, last = 0;
  };
  static std::optional<Steps> StepsIn(std::string_view name);
  // Where in a bundle the lengths before its steps' logs stand, and where it ends. An error: it is not the bundle of these steps.
  static Result<std::vector<std::uint64_t>> PlacesIn(const std::string& path, const Steps& steps);

 private:
  explicit RoundingLogs(std::string directory) : directory_(std::move(directory)) {}
  std::string PathOf(const Steps& steps) const;
  Result<std::map<std::int64_t, Bytes>> ReadBundle(const Steps& steps) const;
  Status WriteBundle(const std::map<std::int64_t, Bytes>& logs);

  std::string directory_;
  std::map<std::int64_t, Steps> bundles_;  // on disk, by their first step
  std::map<std::int64_t, Bytes> pending_;
  std::size_t pending_bytes_ = 0;
  std::map<std::int64_t, Bytes> read_;  // the bundle that was read last
};

}  // namespace assay
