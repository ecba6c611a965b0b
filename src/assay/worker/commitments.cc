#include "assay/worker/commitments.h"

#include <memory>
#include <utility>

#include "assay/base/check.h"
#include "assay/merkle/proof.h"
#include "assay/run/entry.h"
#include "assay/sign/note.h"

namespace assay::worker {

Result<std::unique_ptr<Commitments>> Commitments::Open(const LeaseFolder& folder, const SigningKey& key) {
  std::unique_ptr<Commitments> opened(new Commitments(folder, key));
  ASSAY_ASSIGN(const std::optional<Commitment> committed, folder.Committed());
  if (committed) {
    ASSAY_ASSIGN(const Checkpoint head, OpenCheckpoint(committed->note, key.verify_key(), folder.path()));
    opened->committed_ = head.size;
  }
  ASSAY_ASSIGN(opened->pending_, folder.Pending());
  return opened;
}

void Commitments::Offer(const RunLog& log) {
  const std::lock_guard lock(mutex_);
  const std::vector<LogEntry>& entries = log.entries();
  for (; offered_size_ < log.checkpoint().size; ++offered_size_) offered_.push_back(HashOf(entries[offered_size_]));
  head_ = log.checkpoint();
}

Result<std::optional<Commitment>> Commitments::Next() {
  if (pending_) return pending_;
  Checkpoint head;
  {
    const std::lock_guard lock(mutex_);
    leaves_.insert(leaves_.end(), offered_.begin(), offered_.end());
    offered_.clear();
    head = head_;
  }
  if (head.size <= committed_) return std::nullopt;
  Commitment next{.note = SignCheckpoint(head, key_)};
  if (committed_ > 0) next.proof = ProveConsistency(leaves_, committed_);
  ASSAY_TRY(folder_.SetPending(next));
  pending_ = next;
  return pending_;
}

Status Commitments::Sent(const Commitment& commitment) {
  ASSAY_ASSIGN(const Checkpoint head, OpenCheckpoint(commitment.note, key_.verify_key(), folder_.path()));
  ASSAY_TRY(folder_.SetCommitted(commitment));
  committed_ = head.size;
  pending_.reset();
  return {};
}

Result<bool> Commitments::GoBackTo(std::uint64_t size) {
  if (size >= committed_) return false;
  ASSAY_TRY(folder_.DropPending());
  committed_ = size;
  pending_.reset();
  return true;
}

std::vector<Digest> Commitments::ProofFor(const RunLog& log) const {
  ASSAY_CHECK(!pending_);
  if (committed_ == 0) return {};
  std::vector<Digest> leaves;
  for (const LogEntry& entry : log.entries()) leaves.push_back(HashOf(entry));
  if (committed_ > leaves.size()) return {};  // a log that is not the one that was committed to; the coordinator says so
  return ProveConsistency(leaves, committed_);
}

}  // namespace assay::worker
