#include "assay/train/stepper.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

std::vector<std::string> NamesOf(std::span<const BatchField> fields) {
  std::vector<std::string> names;
  for (const BatchField& field : fields) names.push_back(field.name);
  return names;
}

}  // namespace

Stepper::Stepper(const PreparedJob& prepared, Backend& backend)
    : prepared_(prepared),
      backend_(backend),
      runner_(prepared.program, backend),
      loader_(*prepared.data.train, runner_.batch_fields()),
      root_(NamesOf(runner_.batch_fields())) {}

StepPlan Stepper::Plan(std::int64_t step) const {
  const Job& job = prepared_.job;
  const auto number = static_cast<std::uint32_t>(step);
  return {.step = number,
          .seed = job.seed,
          .lr = LearningRate(job.schedule, step),
          .indices =
              BatchIndices(job.seed, prepared_.data.train->samples(), number, job.batch.microbatch * job.batch.microbatches)};
}

void Stepper::LoadFields(const StepPlan& plan, std::int64_t microbatch, std::span<Tensor> fields) {
  const std::int64_t rows = prepared_.job.batch.microbatch;
  const DrawContext context{.seed = plan.seed, .step = plan.step, .position = microbatch * rows, .train = true};
  const auto first = static_cast<std::size_t>(microbatch * rows);
  loader_.Load(std::span(plan.indices).subspan(first, static_cast<std::size_t>(rows)), context, fields);
}

void Stepper::Load(const StepPlan& plan, std::int64_t microbatch, std::span<Tensor> fields) {
  LoadFields(plan, microbatch, fields);
  root_.Add(fields);
}

StepOutcome Stepper::RunWith(State& state, const StepPlan& plan, const TraceSink* sink) {
  const StepInput input{
      .seed = plan.seed, .step = plan.step, .lr = plan.lr, .load = [&](std::int64_t g, std::span<Tensor> fields) {
        Load(plan, g, fields);
        if (observer_ != nullptr) observer_->Batch(g, fields);
      }};
  const TraceSink observed = [&](std::size_t node, std::span<const void* const> outputs) {
    if (sink != nullptr) (*sink)(node, outputs);
    observer_->Node(node, outputs);
  };
  const TraceSink* seen = observer_ != nullptr ? &observed : sink;
  if (observer_ != nullptr) observer_->Begin(plan, state);
  if (backend_.rounder() != nullptr) return RunRounded(state, input, seen);
  return Outcome(seen == nullptr ? runner_.Run(state, input) : runner_.RunTraced(state, input, *seen));
}

Status Stepper::FollowRoundings(ByteSpan log, std::string_view what, rounding::Scrutiny scrutiny) {
  if (backend_.rounder() == nullptr) return Err("{}: this backend does not round", what);
  ASSAY_TRY(backend_.rounder()->BeginFollow(log, what, scrutiny));
  following_ = true;
  return {};
}

Status Stepper::AmendRoundings(ByteSpan log, std::string_view what) {
  if (backend_.rounder() == nullptr) return Err("{}: this backend does not round", what);
  ASSAY_TRY(backend_.rounder()->BeginAmend(log, what));
  following_ = true;
  return {};
}

// Op by op, so that results come in the order in which their decisions are numbered.
StepOutcome Stepper::RunRounded(State& state, const StepInput& input, const TraceSink* sink) {
  rounding::Rounder& rounder = *backend_.rounder();
  if (!std::exchange(following_, false)) {
    if (ignore_roundings_) {
      rounder.BeginPlain();
    } else {
      rounder.BeginRecord();
    }
  }
  std::vector<std::size_t> node_of_result;
  const TraceSink watching = [&](std::size_t node, std::span<const void* const> outputs) {
    node_of_result.resize(rounder.results(), node);
    if (sink != nullptr) (*sink)(node, outputs);
  };
  StepOutcome outcome = Outcome(runner_.RunTraced(state, input, watching));
  outcome.rounding = StepRounding{.report = rounder.End(), .nodes = std::move(node_of_result)};
  const std::vector<std::size_t>& nodes = outcome.rounding->nodes;
  if (const auto& wrong = outcome.rounding->report.inadmissible; wrong && wrong->result < nodes.size()) {
    outcome.rounding->inadmissible_node = nodes[wrong->result];
  }
  return outcome;
}

StepOutcome Stepper::Outcome(StepResult result) {
  return {.loss = result.loss, .metrics = std::move(result.metrics), .batch_root = root_.Finish()};
}

Digest Stepper::BatchRootOf(const StepPlan& plan) {
  std::vector<Tensor> fields;
  for (const BatchField& field : runner_.batch_fields()) fields.emplace_back(field.type);
  for (std::int64_t g = 0; g < prepared_.job.batch.microbatches; ++g) Load(plan, g, fields);
  return root_.Finish();
}

std::vector<Tensor> Stepper::BatchOf(const StepPlan& plan) {
  std::vector<Tensor> whole, fields;
  for (const BatchField& field : runner_.batch_fields()) {
    TensorType type = field.type;
    type.shape.Set(0, type.shape[0] * prepared_.job.batch.microbatches);
    whole.emplace_back(type);
    fields.emplace_back(field.type);
  }
  for (std::int64_t g = 0; g < prepared_.job.batch.microbatches; ++g) {
    LoadFields(plan, g, fields);
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const ByteSpan from = fields[k].bytes();
      std::ranges::copy(from, whole[k].mutable_bytes().subspan(static_cast<std::size_t>(g) * from.size()).begin());
    }
  }
  return whole;
}

}  // namespace assay
