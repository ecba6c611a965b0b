// Terms: what all parties of a dispute have agreed to by signing for the same job: its encoding and that of its program, read. Everything that a referee
// compares with comes from here: the size of every tree, the structure of every node and where its inputs come from. Immutable; thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/base/result.h"
#include "assay/dispute/node_index.h"
#include "assay/dispute/question.h"
#include "assay/exec/step_nodes.h"
#include "assay/graph/program.h"
#include "assay/job/job.h"

namespace assay::dispute {

// The bytes of some elements of tensor `tensor` of the starting state; none where they cannot be read, which leaves open what they would decide.
using StartingBytes = std::function<Bytes(std::size_t tensor, Range elements)>;

class Terms {
 public:
  // Both encodings as the job id binds them (docs/JOBS.md). They may be hostile.
  static Result<Terms> Make(Bytes job, Bytes program);
  // With the program that this build makes of the job, so that it need not be sent. The id is the receipts' where everybody builds the same.
  static Result<Terms> Rebuild(Bytes job);

  const Bytes& job_bytes() const { return job_bytes_; }
  const Bytes& program_bytes() const { return program_bytes_; }
  const Digest& id() const { return id_; }                  // of the job
  const Digest& trajectory() const { return trajectory_; }  // of the job without its number of steps
  const Digest& program_hash() const { return program_hash_; }
  const Job& job() const { return job_; }  // without its paths
  const JobInputs& inputs() const { return inputs_; }
  const Program& program() const { return *program_; }
  const StepNodes& nodes() const { return *nodes_; }
  const NodeIndex& index() const { return *index_; }

  // Of a job that starts from a file of weights: what is in it, for whoever has the file. The job's encoding binds the file's hash alone.
  void set_starting_weights(StartingBytes start) { start_ = std::move(start); }
  const StartingBytes& starting_weights() const { return start_; }

  std::uint64_t entries() const;  // of the log
  // The steps that entry `index` covers: from (exclusive) to (inclusive). index >= 1.
  std::int64_t StepBefore(std::int64_t entry) const;
  std::int64_t StepOf(std::int64_t entry) const;

  // Of rounded jobs, how many entries are compared one by one where nothing leads to one that differs (job/rounded_bill.h).
  std::uint64_t entries_compared() const { return entries_compared_; }

  // Batch fields in name order, with the type of the whole batch.
  struct Field {
    std::string name;  // without "batch/"
    TensorType type;
    std::size_t micro_input = 0;
  };
  std::span<const Field> fields() const { return fields_; }

  // The delivered weights in name order, as places in the program's state.
  std::span<const std::size_t> weights() const { return weights_; }

  // The number of leaves. An error: the job has no such tree, or (kRoundingLog) does not say.
  Result<std::uint64_t> TreeSize(const TreeName& tree) const;
  // The bytes of a tensor's tree (kStateTensor, kBatchField, kInput, kOutput).
  Result<TensorType> TensorOf(const TreeName& tree) const;

  // Whether the job has such a rounding log.
  Status CheckRoundingLog(const TreeName& tree) const;

  // The bytes of the state or batch entry that names a tensor with this root.
  Bytes StateEntry(std::size_t tensor, const Digest& root) const;
  Bytes BatchEntry(std::size_t field, const Digest& root) const;
  Bytes WeightEntry(std::size_t weight, const Digest& root) const;

 private:
  Terms() = default;
  Bytes job_bytes_, program_bytes_;
  Digest id_{}, trajectory_{}, program_hash_{};
  Job job_;
  JobInputs inputs_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const StepNodes> nodes_;
  std::shared_ptr<const NodeIndex> index_;
  std::vector<Field> fields_;
  std::vector<std::size_t> weights_;
  StartingBytes start_;
  std::uint64_t entries_compared_ = 0;
};

}  // namespace assay::dispute
