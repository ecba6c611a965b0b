// TelemetryTail: reads the telemetry of a run while it is written, a piece at a time, from the first record on. Chain and seals are checked as they are by
// everybody who reads it. Not thread safe.
#pragma once

#include <string>

#include "assay/monitor/chain.h"

namespace assay::tracking {

class TelemetryTail {
 public:
  TelemetryTail(std::string path, const Digest& trajectory, VerifyKey signer);

  // Takes up to a megabyte of what has been added; whether there was anything. An error where the file is damaged, or shorter than it was.
  Result<bool> Read(const monitor::OnRecord& each);

 private:
  const std::string path_;
  const Digest trajectory_;
  const VerifyKey signer_;
  monitor::ChainScan scan_{};
};

}  // namespace assay::tracking
