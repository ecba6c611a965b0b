// The job that a client asked for, as commands take it: a job file, which needs its data, or the job's id.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "assay/base/result.h"
#include "assay/dispute/terms.h"
#include "assay/train/prepare.h"

namespace assay::cli {

struct AskedJob {
  Digest id{};
  dispute::StartingBytes start{};  // of a job that starts from a file of weights, which is read when it is needed
  std::shared_ptr<const PreparedJob> prepared{};  // where it was given as a file
};

// An error where `text` is neither a path of something that exists nor 64 hex digits.
Status CheckNamesJob(const std::string& text);

// `text`: a path, or 64 hex digits. `data` instead of the job's where it is not empty.
Result<AskedJob> OpenAskedJob(const std::string& text, const std::string& data);

}  // namespace assay::cli
