// One step of a job of any size, computed once and kept with all its tensors, in the middle of a log that is made up around it. Two accounts of it, one of which lies about one
// element of one node, dispute as they would over the whole run; so the bill of a dispute over a large model can be had without training it. Both have the same rounding log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/dispute/account.h"
#include "assay/dispute/leaf_records.h"
#include "assay/dispute/terms.h"
#include "assay/run/entry.h"
#include "assay/train/stepper.h"

namespace assay::dispute {

// What both accounts share. Immutable once made.
class OneStep {
 public:
  // The job's starting state is taken for that after step - 1 steps. `prepared` must outlive it; the backend's memory is the host's.
  OneStep(const PreparedJob& prepared, Backend& backend, std::int64_t step);

  const PreparedJob& prepared() const { return prepared_; }
  const Terms& terms() const { return *terms_; }
  std::int64_t step() const { return step_; }
  ByteSpan Input(std::size_t node, std::size_t input) const;
  ByteSpan Output(std::size_t node, std::size_t output) const { return outputs_[node][output]; }
  ByteSpan Before(std::size_t tensor) const { return before_[tensor].bytes(); }
  const NodeRecord& record(std::size_t node) const { return records_[node]; }
  const Digest& before_root() const { return before_root_; }
  const Digest& batch_root() const { return batch_root_; }
  bool rounded() const { return prepared_.job.precision == Precision::kFp64Rounded; }
  const Bytes& rounding_log() const { return rounding_log_; }  // of the step of a rounded job

 private:
  const PreparedJob& prepared_;
  std::unique_ptr<Terms> terms_;
  std::int64_t step_;
  State before_;
  std::vector<std::vector<Bytes>> fields_;   // by microbatch and batch input
  std::vector<std::vector<Bytes>> outputs_;  // by node
  std::vector<Bytes> rng_;                   // by microbatch
  Bytes lr_, number_;
  std::vector<NodeRecord> records_;
  Digest before_root_{}, batch_root_{};
  Bytes rounding_log_;
};

struct OneLie {
  std::size_t node = 0;
  std::size_t output = 0;
  std::int64_t element = 0;
};

class OneStepAccount : public Account {
 public:
  // Both accounts of a dispute must have the same content; it must outlive them.
  OneStepAccount(const OneStep& content, const SigningKey& key, std::optional<OneLie> lie);

  const Bytes& job() const override { return content_.terms().job_bytes(); }
  const Bytes& program() const override { return content_.terms().program_bytes(); }
  const std::string& receipt() const override { return receipt_; }
  Result<std::shared_ptr<const HashTree>> Tree(const TreeName& tree) override;
  Result<Bytes> Leaf(const TreeName& tree, std::uint64_t index) override;
  Result<SamplesAnswer> Samples(const SamplesQuestion&) override { return Err("not here"); }
  Result<std::vector<ref::Value>> Parts(const PartsQuestion& question) override;

 private:
  Result<ByteSpan> TensorOf(const TreeName& tree) const;
  Result<std::vector<ref::Value>> RoundedParts(const PartsQuestion& question) const;
  bool IsLie(const TreeName& tree) const;
  NodeRecord RecordOf(std::size_t node) const;

  const OneStep& content_;
  std::optional<OneLie> lie_;
  std::string receipt_;
  Bytes false_output_;  // with the lie in it
  std::vector<LogEntry> log_;
  std::shared_ptr<const HashTree> log_tree_, trace_tree_;
  std::optional<std::pair<TreeName, std::shared_ptr<const HashTree>>> last_;  // a tensor's
};

}  // namespace assay::dispute
