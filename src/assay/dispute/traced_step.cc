#include "assay/dispute/traced_step.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

using Kind = InputSource::Kind;

// Which of the batch's fields micro input `input` is: they are in the order of the inputs.
std::size_t FieldOf(const Program& program, std::size_t input) {
  const auto inputs = std::span(program.micro.inputs()).first(input);
  return static_cast<std::size_t>(
      std::ranges::count_if(inputs, [](const NamedValue& v) { return v.name.starts_with("batch/"); }));
}

// What the step feeds to inputs that are neither state nor batch (assay/exec/step.h).
Bytes ScalarBytes(const InputSource& source, const StepPlan& plan) {
  ByteWriter out;
  switch (source.kind) {
    case Kind::kRng:
      out.U64(plan.seed);
      out.U32(plan.step);
      out.U32(static_cast<std::uint32_t>(source.microbatch));
      break;
    case Kind::kLr: out.F32(plan.lr); break;
    case Kind::kStep: out.I64(std::int64_t{plan.step} + 1); break;
    default: ASSAY_CHECK(false);
  }
  return out.Take();
}

void Copy(Tensor& to, ByteSpan from) {
  ASSAY_CHECK(to.type().bytes() == from.size());
  std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

Listing::Listing(std::vector<Bytes> records) : leaves(std::move(records)) {
  Hashes hashes;
  for (const Bytes& leaf : leaves) hashes.push_back(LeafHash(leaf));
  tree = std::make_shared<const HashTree>(std::move(hashes));
}

std::size_t Listing::bytes() const {
  std::size_t bytes = 2 * sizeof(Digest) * leaves.size();
  for (const Bytes& leaf : leaves) bytes += sizeof(Bytes) + leaf.size();
  return bytes;
}

std::size_t TracedStep::bytes() const {
  std::size_t bytes = records->bytes();
  for (const auto& outputs : nodes) {
    for (const TraceOutput& output : outputs) bytes += sizeof(TraceOutput) + sizeof(Digest) * output.leaves.size();
  }
  return bytes;
}

StepRecorder::StepRecorder(const Program& program, const StepNodes& nodes, Backend& backend)
    : program_(program), nodes_(nodes), backend_(backend), recorder_(program, backend), sink_(recorder_.sink()) {}

void StepRecorder::Begin(const StepPlan& plan, const State& before) {
  begun_ = true;
  plan_ = plan;
  std::vector<ByteSpan> tensors;
  for (const Tensor& tensor : before)
    tensors.emplace_back(static_cast<const std::uint8_t*>(tensor.data()), tensor.type().bytes());
  state_roots_ = backend_.TensorRoots(tensors);
  batch_roots_.assign(static_cast<std::size_t>(program_.microbatches), {});
}

void StepRecorder::Batch(std::int64_t microbatch, std::span<const Tensor> fields) {
  std::vector<Digest>& roots = batch_roots_[static_cast<std::size_t>(microbatch)];
  roots.clear();
  for (const Tensor& field : fields) roots.push_back(TensorRoot(field.bytes()));
}

Digest StepRecorder::InputRoot(const InputSource& source) const {
  switch (source.kind) {
    case Kind::kNode: return output_roots_[source.node][source.index];
    case Kind::kState: return state_roots_[source.index];
    case Kind::kBatch: return batch_roots_[static_cast<std::size_t>(source.microbatch)][FieldOf(program_, source.index)];
    default: return TensorRoot(ScalarBytes(source, plan_));
  }
}

Result<TracedStep> StepRecorder::Take() {
  if (!begun_) return Err("the step was not run");
  TracedStep traced{.nodes = recorder_.Take(), .records = nullptr};
  for (const auto& outputs : traced.nodes) {
    std::vector<Digest>& roots = output_roots_.emplace_back();
    for (const TraceOutput& output : outputs) roots.push_back(TreeRoot(output.leaves));
  }
  std::vector<Bytes> records;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    NodeRecord record = BlankRecord(nodes_, n);
    const std::vector<InputSource> sources = nodes_.Sources(n);
    for (std::size_t k = 0; k < sources.size(); ++k) record.inputs[k] = InputRoot(sources[k]);
    for (std::size_t k = 0; k < record.outputs.size(); ++k) record.outputs[k].root = output_roots_[n][k];
    records.push_back(Encode(record));
  }
  traced.records = std::make_shared<const Listing>(std::move(records));
  return traced;
}

std::size_t NodeCapture::bytes() const {
  std::size_t bytes = 0;
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const Tensor& tensor : *tensors) bytes += tensor.type().bytes();
  }
  return bytes;
}

NodeCapturer::NodeCapturer(const Program& program, const StepNodes& nodes, std::size_t node, Backend& backend)
    : program_(program), node_(node), backend_(backend), sources_(nodes.Sources(node)) {
  const OpInstance op = nodes.Instance(node);
  for (const TensorType& type : op.in) capture_.inputs.emplace_back(type);
  for (const TensorType& type : op.out) capture_.outputs.emplace_back(type);
}

void NodeCapturer::Begin(const StepPlan& plan, const State& before) {
  begun_ = true;
  for (std::size_t k = 0; k < sources_.size(); ++k) {
    const InputSource& source = sources_[k];
    Tensor& input = capture_.inputs[k];
    if (source.kind == Kind::kState) {
      backend_.memory().CopyOut(input.data(), before[source.index].data(), input.type().bytes());
    } else if (source.kind != Kind::kNode && source.kind != Kind::kBatch) {
      Copy(input, ScalarBytes(source, plan));
    }
  }
}

void NodeCapturer::Batch(std::int64_t microbatch, std::span<const Tensor> fields) {
  for (std::size_t k = 0; k < sources_.size(); ++k) {
    const InputSource& source = sources_[k];
    if (source.kind != Kind::kBatch || source.microbatch != microbatch) continue;
    Copy(capture_.inputs[k], fields[FieldOf(program_, source.index)].bytes());
  }
}

void NodeCapturer::Node(std::size_t node, std::span<const void* const> outputs) {
  const auto fetch = [&](Tensor& to, const void* from) { backend_.memory().CopyOut(to.data(), from, to.type().bytes()); };
  for (std::size_t k = 0; k < sources_.size(); ++k) {
    const InputSource& source = sources_[k];
    if (source.kind == Kind::kNode && source.node == node) fetch(capture_.inputs[k], outputs[source.index]);
  }
  if (node != node_) return;
  for (std::size_t k = 0; k < outputs.size(); ++k) fetch(capture_.outputs[k], outputs[k]);
}

Result<NodeCapture> NodeCapturer::Take() {
  if (!begun_) return Err("the step was not run");
  return std::move(capture_);
}

}  // namespace assay::dispute
