// LeaseFolder: how far the work under one lease has come, so that a worker that was killed takes it up where it was and says nothing twice in two ways.
//
// What is about to be sent is written down first. After a restart it is sent again, byte for byte, which the coordinator answers like the first time. Not
// synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "assay/worker/link.h"
#include "assay/worker/workplace.h"

namespace assay::worker {

class LeaseFolder {
 public:
  // Creates the folder, or takes up what is there.
  static Result<LeaseFolder> Open(const Workplace& place, const GivenLease& lease);
  // What is there; nothing where the folder holds no lease that can be read.
  static std::optional<LeaseFolder> Find(const Workplace& place, const LeaseName& name);

  const GivenLease& lease() const { return lease_; }
  const std::string& path() const { return path_; }
  std::string order_path() const { return JoinPath(path_.substr(0, path_.find_last_of('/')), "order.json"); }
  std::string files_path() const { return JoinPath(path_.substr(0, path_.find_last_of('/')), "files"); }
  std::string run_path() const { return JoinPath(path_, "run"); }
  std::string audited_path() const { return JoinPath(path_, "audited"); }
  std::string sealed_path() const { return JoinPath(path_, "sealed"); }

  // The order, as its client signed it. An error where another one is kept under its id: what was opened for that one is not there for this one.
  Status KeepOrder(const std::string& envelope) const;

  // Milliseconds of work under this lease, in all processes.
  std::int64_t used_ms() const { return used_ms_; }
  Status SetUsed(std::int64_t used_ms);

  // Of commitments: the one that the coordinator has, and the one that it may have.
  Result<std::optional<Commitment>> Committed() const { return ReadCommitment("committed.json"); }
  Result<std::optional<Commitment>> Pending() const { return ReadCommitment("pending.json"); }
  Status SetPending(const Commitment& commitment) const;
  Status SetCommitted(const Commitment& commitment) const;  // and nothing is pending
  Status DropPending() const;

  // Of an audit: what this worker adds to the draw of the sample, 64 hex digits. Drawn when it is asked for first, and the same after a restart.
  Result<std::string> Share() const;

  // What ends the lease, once it is made.
  Result<std::optional<Delivery>> ReadDelivery() const;
  Status SetDelivery(const Delivery& delivery) const;
  Result<std::optional<std::string>> ReadReport() const;
  Status SetReport(const std::string& envelope) const;

  // The coordinator has the result or the report.
  bool done() const { return Exists(JoinPath(path_, "done")); }
  Status SetDone() const;

 private:
  LeaseFolder(std::string path, GivenLease lease, std::int64_t used_ms)
      : path_(std::move(path)), lease_(std::move(lease)), used_ms_(used_ms) {}
  Status Write() const;
  Result<std::optional<Commitment>> ReadCommitment(const std::string& name) const;
  Result<std::optional<std::string>> ReadText(const std::string& name) const;

  std::string path_;
  GivenLease lease_;
  std::int64_t used_ms_ = 0;
};

}  // namespace assay::worker
