#include "assay/dispute/terms.h"

#include <algorithm>

#include "assay/job/limits.h"
#include "assay/job/rounded_bill.h"
#include "assay/merkle/tree.h"
#include "assay/model/model.h"
#include "assay/ops/table.h"
#include "assay/run/commit_schedule.h"
#include "assay/run/entry.h"

namespace assay::dispute {
namespace {

constexpr std::string_view kBatchPrefix = "batch/";

// A batch field's type, all microbatches along the first axis.
TensorType WholeBatch(TensorType type, std::int64_t microbatches) {
  type.shape.Set(0, type.shape[0] * microbatches);
  return type;
}

std::vector<Terms::Field> FieldsOf(const Program& program) {
  std::vector<Terms::Field> fields;
  for (std::size_t i = 0; i < program.micro.inputs().size(); ++i) {
    const NamedValue& input = program.micro.inputs()[i];
    if (!input.name.starts_with(kBatchPrefix)) continue;
    const TensorType& type = program.micro.type(input.value);
    fields.push_back({input.name.substr(kBatchPrefix.size()), WholeBatch(type, program.microbatches), i});
  }
  std::ranges::sort(fields, {}, &Terms::Field::name);
  return fields;
}

// The model's tensors among those of the state: all that no optimiser keeps. Told by their names, so that whoever has the program alone knows them.
std::vector<std::size_t> WeightsAmong(const std::vector<StateSpec>& state) {
  std::vector<std::size_t> weights;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!state[i].name.starts_with("sgd.") && !state[i].name.starts_with("adam.")) weights.push_back(i);
  }
  return weights;
}

}  // namespace

Result<Terms> Terms::Make(Bytes job, Bytes program) {
  Terms terms;
  ASSAY_ASSIGN(DecodedJob decoded, DecodeJob(job));
  if (decoded.job.precision == Precision::kFp32Vendor) {
    return Err("job: precision fp32-vendor cannot be disputed: honest runs of it differ from machine to machine");
  }
  ASSAY_ASSIGN(Program read, DecodeProgram(Ops(), program));
  ASSAY_TRY(CheckLimits(decoded.job, read));
  terms.fields_ = FieldsOf(read);
  terms.weights_ = WeightsAmong(read.state);
  terms.id_ = JobId(job, program);
  terms.program_hash_ = HashBytes(program);
  terms.job_ = decoded.job;
  terms.inputs_ = decoded.inputs;
  decoded.job.steps = 0;
  terms.trajectory_ = JobId(Encode(decoded.job, decoded.inputs), program);
  terms.job_bytes_ = std::move(job);
  terms.program_bytes_ = std::move(program);
  terms.program_ = std::make_shared<const Program>(std::move(read));
  if (terms.job_.precision == Precision::kFp64Rounded) {
    terms.entries_compared_ = RoundedBill(terms.job_, *terms.program_).EntriesCompared();
  }
  terms.nodes_ = std::make_shared<const StepNodes>(*terms.program_);
  terms.index_ = std::make_shared<const NodeIndex>(*terms.program_, *terms.nodes_);
  return terms;
}

Result<Terms> Terms::Rebuild(Bytes job) {
  ASSAY_ASSIGN(const DecodedJob decoded, DecodeJob(job));
  const Job& read = decoded.job;
  ASSAY_TRY(Check(read.model, read.batch));
  ASSAY_TRY(CheckSizes(read.model, read.batch));
  return Make(std::move(job), Encode(BuildProgram(read.model, read.optimizer, read.batch, DigitsOf(read.precision))));
}

std::uint64_t Terms::entries() const { return static_cast<std::uint64_t>(CommitSchedule::Of(job_).entries()); }

// Also of entries that the job does not have: whoever asks may be anyone.
std::int64_t Terms::StepOf(std::int64_t entry) const {
  if (entry < 0) return 0;
  return CommitSchedule::Of(job_).StepOfEntry(entry);
}
std::int64_t Terms::StepBefore(std::int64_t entry) const { return entry < 1 ? 0 : StepOf(entry - 1); }

Result<TensorType> Terms::TensorOf(const TreeName& tree) const {
  const auto missing = [&] { return Err("the job does not have {}", Describe(CommitQuestion{tree}).substr(12)); };
  switch (tree.kind) {
    case TreeKind::kStateTensor:
      if (tree.at < 0 || tree.at > job_.steps || tree.index >= program_->state.size() || tree.node != 0) return missing();
      return program_->state[tree.index].type;
    case TreeKind::kBatchField:
      if (tree.at < 1 || tree.at > job_.steps || tree.index >= fields_.size() || tree.node != 0) return missing();
      return fields_[tree.index].type;
    case TreeKind::kInput:
    case TreeKind::kOutput: {
      if (tree.at < 1 || tree.at > job_.steps || tree.node >= nodes_->size()) return missing();
      const auto type =
          tree.kind == TreeKind::kInput ? index_->InputType(tree.node, tree.index) : index_->OutputType(tree.node, tree.index);
      if (!type) return missing();
      return *type;
    }
    default: return missing();
  }
}

Result<std::uint64_t> Terms::TreeSize(const TreeName& tree) const {
  const auto missing = [&] { return Err("the job does not have {}", Describe(CommitQuestion{tree}).substr(12)); };
  const bool plain = tree.node == 0 && tree.index == 0;
  switch (tree.kind) {
    case TreeKind::kLog:
      if (!plain || tree.at != 0) return missing();
      return entries();
    case TreeKind::kRoundings:
      if (job_.precision != Precision::kFp64Rounded) return missing();
      [[fallthrough]];
    case TreeKind::kBatches:
    case TreeKind::kStates:
      if (!plain || tree.at < 1 || static_cast<std::uint64_t>(tree.at) >= entries()) return missing();
      return static_cast<std::uint64_t>(StepOf(tree.at) - StepBefore(tree.at));
    case TreeKind::kTrace:
      if (!plain || tree.at < 1 || tree.at > job_.steps) return missing();
      return nodes_->size();
    case TreeKind::kState:
      if (!plain || tree.at < 0 || tree.at > job_.steps) return missing();
      return program_->state.size();
    case TreeKind::kWeights:
      if (!plain || tree.at != 0) return missing();
      return weights_.size();
    case TreeKind::kBatch:
      if (!plain || tree.at < 1 || tree.at > job_.steps) return missing();
      return fields_.size();
    default: {
      ASSAY_ASSIGN(const TensorType type, TensorOf(tree));
      return CountLeaves(type.bytes());
    }
  }
}

Status Terms::CheckRoundingLog(const TreeName& tree) const {
  const bool there = tree.kind == TreeKind::kRoundingLog && job_.precision == Precision::kFp64Rounded && tree.at >= 1 &&
                     tree.at <= job_.steps && tree.node == 0 && tree.index == 0;
  if (!there) return Err("the job does not have {}", Describe(CommitQuestion{tree}).substr(12));
  return {};
}

Bytes Terms::StateEntry(std::size_t tensor, const Digest& root) const {
  const StateSpec& spec = program_->state[tensor];
  return EntryBytes(kStateTag, {spec.name, spec.type, root});
}

Bytes Terms::BatchEntry(std::size_t field, const Digest& root) const {
  return EntryBytes(kBatchTag, {fields_[field].name, fields_[field].type, root});
}

Bytes Terms::WeightEntry(std::size_t weight, const Digest& root) const {
  const StateSpec& spec = program_->state[weights_[weight]];
  return EntryBytes(kWeightsTag, {spec.name, spec.type, root});
}

}  // namespace assay::dispute
