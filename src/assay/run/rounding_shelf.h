// RoundingShelf: the rounding logs of a finished run as they lie on disk, handed out in parts without reading the rest (docs/formats/rounding.md, "Bundles in a
// run").
//
// Where each log begins is found once, when the shelf is opened; 8 bytes for each step are kept. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/run/entry.h"

namespace assay {

class RoundingShelf {
 public:
  static Result<RoundingShelf> Open(const std::string& directory);

  // How long the log of the step that leads to `step` is.
  Result<std::uint64_t> Size(std::int64_t step) const;
  // `bytes` of it from `begin` on, or as many as there are.
  Result<Bytes> Read(std::int64_t step, std::uint64_t begin, std::uint64_t bytes) const;
  // What an entry commits to of it.
  Result<RoundingLeaf> Leaf(std::int64_t step) const;

 private:
  struct Bundle {
    std::string path;
    std::vector<std::uint64_t> begins;  // of the logs in the file, and the end of the last
  };
  struct Place {
    const std::string& path;
    std::uint64_t begin = 0, end = 0;
  };
  Result<Place> Find(std::int64_t step) const;

  std::string directory_;
  std::map<std::int64_t, Bundle> bundles_;  // by their first step
};

}  // namespace assay
