#include "assay/job/limits.h"

#include <algorithm>

#include "assay/data/cifar.h"
#include "assay/job/fields.h"
#include "assay/job/rounded_bill.h"
#include "assay/merkle/tree.h"
#include "assay/ops/digits.h"
#include "assay/ops/narrow.h"
#include "assay/ops/table.h"

namespace assay {
namespace {

constexpr std::string_view kBatchPrefix = "batch/";
// Random streams of nodes; those beyond are drawn from by others: starting values, orders of samples, data (docs/NUMERICS.md, section 4).
constexpr std::int64_t kMaxNodeStream = 0x0fffffff;

// Attention allows no other streams; dropout, which is tested with all of them, does.
Status CheckStream(const OpInstance& op) {
  if (op.def->index != op::dropout || op.attrs.Int(1) <= kMaxNodeStream) return {};
  return Err("random stream 0x{:08x} is reserved, those of nodes go up to 0x{:08x}", op.attrs.Int(1), kMaxNodeStream);
}

Status CheckGraph(std::string_view what, const Graph& graph) {
  for (const NamedValue& input : graph.inputs()) {
    if (graph.type(input.value).elements() == 0) return Err("program: {} input '{}' has no elements", what, input.name);
  }
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const OpInstance op = graph.Instance(graph.nodes()[n]);
    const auto empty = std::ranges::find(op.out, 0, &TensorType::elements);
    if (empty != op.out.end()) return Err("program: {} node {} ({}): an output has no elements", what, n, op.def->name);
    if (const std::size_t bytes = RecordBytes(op); bytes > kMaxRecordBytes) {
      return Err("program: {} node {} ({}): its record would have {} bytes ({} inputs, {} outputs), at most {} can be disputed",
                 what, n, op.def->name, bytes, op.in.size(), op.out.size(), kMaxRecordBytes);
    }
    if (const Status stream = CheckStream(op); !stream) {
      return Err("program: {} node {} ({}): {}", what, n, op.def->name, stream.error().message);
    }
  }
  return {};
}

// What leaves a microbatch is what a node made: the law has nothing else to compare it with.
Status CheckMicroOutputs(const Graph& micro) {
  for (const NamedValue& output : micro.outputs()) {
    if (output.value < micro.inputs().size()) return Err("program: micro output '{}' is no node's output", output.name);
  }
  return {};
}

Status CheckStepNodes(const Program& program) {
  const auto microbatches = static_cast<std::uint64_t>(program.microbatches);
  const std::uint64_t each = program.micro.nodes().size() + (microbatches > 1 ? program.micro.outputs().size() : 0);
  if (const std::uint64_t nodes = microbatches * each + program.update.nodes().size(); nodes > kMaxStepNodes) {
    return Err("program: a step has {} nodes ({} in each of {} microbatches), at most {} can be disputed", nodes, each,
               microbatches, kMaxStepNodes);
  }
  return {};
}

Status CheckBatch(const BatchConfig& batch, const Program& program) {
  if (program.microbatches != batch.microbatches) {
    return Err("job: has {} microbatches, its program {}", batch.microbatches, program.microbatches);
  }
  if (batch.microbatch > kMaxBatchSamples / batch.microbatches) {
    return Err("batch: {} microbatches of {} samples, at most {} samples in all can be disputed", batch.microbatches,
               batch.microbatch, kMaxBatchSamples);
  }
  std::size_t fields = 0;
  std::uint64_t sample_bytes = 0;
  for (const NamedValue& input : program.micro.inputs()) {
    if (!input.name.starts_with(kBatchPrefix)) continue;
    const TensorType& type = program.micro.type(input.value);
    if (type.shape.rank() < 1 || type.shape[0] != batch.microbatch) {
      return Err("program: {} is {}, expected {} samples", input.name, ToString(type), batch.microbatch);
    }
    ++fields;
    sample_bytes += type.bytes() / static_cast<std::uint64_t>(batch.microbatch);
  }
  if (fields == 0) return Err("program: reads no batch");
  if (sample_bytes > kMaxSampleBytes) {
    return Err("program: a sample has {} bytes in its batch, at most {} can be disputed", sample_bytes, kMaxSampleBytes);
  }
  return {};
}

// Of a sample, of the models that train on arrays.
std::uint64_t InputElements(const ModelConfig& model) {
  if (const auto* c = std::get_if<MlpConfig>(&model)) return static_cast<std::uint64_t>(c->inputs);
  if (const auto* c = std::get_if<ResNetConfig>(&model))
    return static_cast<std::uint64_t>(c->height() * c->columns() * c->channels);
  return 0;
}

// The contractions have the digits of the job's precision.
Status CheckDigits(const Job& job, const Program& program) {
  for (const Graph* graph : {&program.micro, &program.update}) {
    for (std::size_t n = 0; n < graph->nodes().size(); ++n) {
      const Node& node = graph->nodes()[n];
      const OpDef& def = graph->def(node);
      const int digits = ops::DigitsOf(def, node.attrs);
      if (!TakesOptional(def.attrs) || digits == DigitsOf(job.precision)) continue;
      return Err("program: {} node {} ({}): has {} digits, expected {} in a job of precision {}",
                 graph == &program.micro ? "micro" : "update", n, def.name, digits, DigitsOf(job.precision),
                 job::kPrecisions[static_cast<std::size_t>(job.precision)]);
    }
  }
  return {};
}

// Whoever disputes an element of a rounded job has to be told all that it depends on. Names the dearest node.
Status CheckRoundedBill(const Job& job, const Program& program) {
  const RoundedBill bill(job, program);
  std::uint64_t most = kMaxRoundedBytes;
  Status status;
  for (const Graph* graph : {&program.micro, &program.update}) {
    for (std::size_t n = 0; n < graph->nodes().size(); ++n) {
      const OpInstance op = graph->Instance(graph->nodes()[n]);
      const std::uint64_t bytes = bill.Most(op);
      if (bytes <= most) continue;
      most = bytes;
      status =
          Err("program: {} node {} ({}): an element depends on up to {} numbers, and a dispute about it in a job of precision "
              "fp64-rounded would take {} bytes, at most {} are allowed; take a smaller microbatch or a shorter sequence",
              graph == &program.micro ? "micro" : "update", n, op.def->name, ops::MaxOperandWords(op), bytes, kMaxRoundedBytes);
    }
  }
  return status;
}

}  // namespace

std::uint64_t MaxSourceBytes(const Job& job) {
  // Each range may begin and end inside a block.
  if (TrainsOnArrays(job)) return 4 * (InputElements(job.model) + 1) + 4 * (kLeafBytes - 1);
  const std::uint64_t tokens = 2 * (static_cast<std::uint64_t>(job.batch.sequence) + 1),
                      bytes = std::max(tokens, std::uint64_t{kCifarRecord});
  return bytes + 2 * (kLeafBytes - 1);
}

std::size_t RecordBytes(const OpInstance& op) {
  ByteWriter attrs;
  Encode(op.attrs, attrs);
  constexpr std::size_t kFixed = (4 + 12) + 4 + 2 + 2 + 8 + 4 + 4;  // tag, node, op, version, and the lengths of three lists
  return kFixed + attrs.bytes().size() + 32 * op.in.size() + 40 * op.out.size();
}

Status CheckLimits(const Job& job, const Program& program) {
  ASSAY_TRY(Check(job.model, job.batch));
  if (program.state.empty()) return Err("program: has no state");
  for (const StateSpec& spec : program.state) {
    if (spec.type.elements() == 0) return Err("program: state '{}' has no elements", spec.name);
  }
  ASSAY_TRY(CheckGraph("micro", program.micro));
  ASSAY_TRY(CheckGraph("update", program.update));
  ASSAY_TRY(CheckMicroOutputs(program.micro));
  ASSAY_TRY(CheckBatch(job.batch, program));
  if (const std::uint64_t elements = InputElements(job.model); TrainsOnArrays(job) && elements > kMaxArrayElements) {
    return Err("data: a sample of an array has {} elements, at most {} can be disputed", elements, kMaxArrayElements);
  }
  ASSAY_TRY(CheckStepNodes(program));
  ASSAY_TRY(CheckDigits(job, program));
  return job.precision == Precision::kFp64Rounded ? CheckRoundedBill(job, program) : Status{};
}

Status CheckDisputable(const Job& job, const JobInputs& inputs, const Program& program) {
  ASSAY_TRY(DecodeJob(Encode(job, inputs)));
  ASSAY_TRY(DecodeProgram(Ops(), Encode(program)));
  return CheckLimits(job, program);
}

}  // namespace assay
