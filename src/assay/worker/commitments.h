// Commitments: what a worker has told the coordinator of a run's log, and what it tells next, with the proof that the one continues the other.
//
// Offer is called by who trains and takes only what is new of the log; everything else by who sends. What is sent has been written to the lease's folder before, so
// that a worker that was killed sends the same again and never one that does not continue it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "assay/run/log.h"
#include "assay/sign/key.h"
#include "assay/worker/lease_folder.h"

namespace assay::worker {

class Commitments {
 public:
  // Takes up what the folder says. All must outlive it.
  static Result<std::unique_ptr<Commitments>> Open(const LeaseFolder& folder, const SigningKey& key);

  // The log as it is on disk. Never waits for the network or for a proof.
  void Offer(const RunLog& log);

  // What is to be sent: what was sent before and may not have arrived, or the newest that was offered; nothing where the coordinator has it already.
  Result<std::optional<Commitment>> Next();
  // The coordinator has it.
  Status Sent(const Commitment& commitment);
  // The coordinator has a commitment to so many entries. Where that is less than it had, as after a backup was restored, what it lacks is told anew from there on:
  // true. Nothing changes where it is not.
  Result<bool> GoBackTo(std::uint64_t size);

  // That what the coordinator has last is the beginning of the whole log, for the result. Nothing may be pending.
  std::vector<Digest> ProofFor(const RunLog& log) const;

 private:
  Commitments(const LeaseFolder& folder, const SigningKey& key) : folder_(folder), key_(key) {}

  const LeaseFolder& folder_;
  const SigningKey& key_;
  std::uint64_t committed_ = 0;          // entries that the coordinator knows of
  std::optional<Commitment> pending_{};  // sent, without an answer yet
  std::vector<Digest> leaves_{};         // of the offered log

  std::mutex mutex_;  // of what follows
  std::vector<Digest> offered_{};
  std::uint64_t offered_size_ = 0;
  Checkpoint head_{};
};

}  // namespace assay::worker
