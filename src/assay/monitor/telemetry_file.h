// TelemetryFile: the file of a run's telemetry, open for the next records (docs/formats/telemetry.md).
//
// What an interrupted process left after the last whole record is cut off, and the chain goes on from there. Not synchronised.
#pragma once

#include <cstdint>
#include <string>

#include "assay/base/file.h"
#include "assay/monitor/chain.h"

namespace assay::monitor {

class TelemetryFile {
 public:
  // Creates the file where there is none. An error also where it is of another run.
  static Result<TelemetryFile> Open(const std::string& path, const Digest& trajectory, const VerifyKey& signer);

  std::uint64_t next_index() const { return next_; }
  const Digest& hash() const { return hash_; }  // of the last record
  // Chains the record, whose index it sets, to those before; its bytes wait for Write. The record's hash.
  Digest Add(Record& record);
  Status Write();
  Status Sync() { return file_.Sync(); }

 private:
  TelemetryFile(AppendFile file, const ChainScan& scan) : file_(std::move(file)), next_(scan.records), hash_(scan.hash) {}
  AppendFile file_;
  std::uint64_t next_ = 0;
  Digest hash_{};
  Bytes waiting_;
};

// Cuts off what is not a record at the end of the file, if there is one that begins well. For a run that goes on without telemetry.
Status RepairTelemetry(const std::string& path, const Digest& trajectory, const VerifyKey& signer);

}  // namespace assay::monitor
