#include "assay/train/loss_pass.h"

#include <limits>

#include "assay/base/check.h"
#include "assay/monitor/speed.h"

namespace assay {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kStatePrefix = "state/";
constexpr std::string_view kBatchPrefix = "batch/";

// The first output of `micro` is the loss; nodes that it does not depend on are dropped.
Graph LossGraph(const Graph& micro) {
  GraphBuilder builder(micro.table());
  for (const NamedValue& input : micro.inputs()) builder.Input(input.name, micro.type(input.value));
  for (const Node& node : micro.nodes()) builder.Add(node.op, node.attrs, node.inputs);
  const NamedValue& loss = micro.outputs().front();
  ASSAY_CHECK(loss.name == "loss");
  builder.Output(loss.name, loss.value);
  return std::move(builder).Finish();
}

std::size_t StateNamed(const Program& program, std::string_view name) {
  for (std::size_t i = 0; i < program.state.size(); ++i) {
    if (program.state[i].name == name) return i;
  }
  ASSAY_CHECK(false);
  return kNone;
}

}  // namespace

LossPass::LossPass(const PreparedJob& prepared, Backend& backend)
    : prepared_(prepared),
      backend_(backend),
      graph_(LossGraph(prepared.program.micro)),
      executor_(graph_, backend, {}),
      flops_(monitor::GraphFlops(graph_)),
      rng_(TensorType{DType::kU32, {4}}),
      loss_(TensorType{DType::kF32, {}}, backend.memory()) {
  ASSAY_CHECK(backend.rounder() == nullptr);
  for (const NamedValue& input : graph_.inputs()) {
    const std::string_view name = input.name;
    const bool is_state = name.starts_with(kStatePrefix), is_batch = name.starts_with(kBatchPrefix);
    state_of_input_.push_back(is_state ? StateNamed(prepared.program, name.substr(kStatePrefix.size())) : kNone);
    field_of_input_.push_back(is_batch ? fields_.size() : kNone);
    if (is_batch) fields_.push_back({std::string(name.substr(kBatchPrefix.size())), graph_.type(input.value)});
  }
  loader_ = std::make_unique<BatchLoader>(*prepared.data.train, fields_);
  const bool on_device = backend.AsHost() == nullptr;
  for (const BatchField& field : fields_) {
    batch_.emplace_back(field.type);
    if (on_device) sent_.emplace_back(field.type, backend.memory());
  }
  if (on_device) rng_sent_ = Tensor(rng_.type(), backend.memory());
  if (prepared.program.microbatches > 1) {
    tree_ = std::make_unique<exec::GradientTree>(std::vector{TensorType{DType::kF32, {}}}, prepared.program.microbatches,
                                                 backend, true);
  }
}

LossPass::~LossPass() = default;

float LossPass::Read(const void* scalar) const {
  float value = 0;
  backend_.memory().CopyOut(&value, scalar, sizeof value);
  return value;
}

const void* LossPass::RunMicrobatch(const State& state, std::uint32_t step, std::int64_t microbatch,
                                    std::span<const std::int64_t> samples, std::span<void* const> outputs) {
  const std::int64_t rows = prepared_.job.batch.microbatch;
  const std::uint64_t seed = prepared_.job.seed;
  ASSAY_CHECK(static_cast<std::int64_t>(samples.size()) == rows && state.size() == prepared_.program.state.size());
  loader_->Load(samples, {.seed = seed, .step = step, .position = microbatch * rows, .train = true}, batch_);
  const auto words = rng_.Span<std::uint32_t>();
  words[0] = static_cast<std::uint32_t>(seed);
  words[1] = static_cast<std::uint32_t>(seed >> 32);
  words[2] = step;
  words[3] = static_cast<std::uint32_t>(microbatch);
  const bool on_device = !sent_.empty();
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    backend_.memory().CopyIn(sent_[i].data(), batch_[i].data(), batch_[i].type().bytes());
  }
  if (on_device) backend_.memory().CopyIn(rng_sent_.data(), rng_.data(), rng_.type().bytes());
  std::vector<const void*> inputs;
  for (std::size_t i = 0; i < state_of_input_.size(); ++i) {
    if (state_of_input_[i] != kNone) {
      inputs.push_back(state[state_of_input_[i]].data());
    } else if (field_of_input_[i] != kNone) {
      inputs.push_back((on_device ? sent_ : batch_)[field_of_input_[i]].data());
    } else {
      inputs.push_back((on_device ? rng_sent_ : rng_).data());
    }
  }
  executor_.Run(inputs, outputs);
  return outputs[0];
}

float LossPass::StepLoss(const State& state, const StepPlan& plan) {
  const auto rows = static_cast<std::size_t>(prepared_.job.batch.microbatch);
  const auto samples = [&](std::int64_t g) {
    return std::span(plan.indices).subspan(static_cast<std::size_t>(g) * rows, rows);
  };
  if (!tree_) {
    void* const out[] = {loss_.data()};
    return Read(RunMicrobatch(state, plan.step, 0, samples(0), out));
  }
  for (std::int64_t g = 0; g < prepared_.program.microbatches; ++g) {
    RunMicrobatch(state, plan.step, g, samples(g), tree_->Next());
    tree_->Push(nullptr);
  }
  return Read(tree_->Finish(nullptr).front());
}

float LossPass::MicrobatchLoss(const State& state, std::int64_t step, std::int64_t microbatch,
                               std::span<const std::int64_t> samples) {
  void* const out[] = {loss_.data()};
  return Read(RunMicrobatch(state, static_cast<std::uint32_t>(step), microbatch, samples, out));
}

}  // namespace assay
