// A run behind a URL (`assay provide`), to be followed: its receipt and log at once, its rounding logs step by step as they are needed.
//
// Nothing is trusted: the receipt must be signed and of the job, the log the one that the receipt commits to, and FollowedRun compares every rounding log with it.
// Nothing longer than what was promised is read. Requests that are answered by 429 or 503, or cut, are made again until their time is over.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "assay/train/followed_run.h"

namespace assay::service {

struct RemoteOptions {
  std::string ca_file{};    // PEM: certificates to trust instead of the system's
  double patience_s = 300;  // for each thing that is asked for, and a second more for each MiB of it
};

// Whether it is a URL and not a path.
bool IsUrl(std::string_view text);

Result<FollowedRun> OpenRemoteRun(const std::string& url, const PreparedJob& prepared, const RemoteOptions& options);

}  // namespace assay::service
