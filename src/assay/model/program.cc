// The assembly of a whole training step: the model's forward pass, loss, gradients, clipping and optimizer.
#include <algorithm>
#include <variant>

#include "assay/base/check.h"
#include "assay/graph/autodiff.h"
#include "assay/model/forward.h"
#include "assay/model/model.h"
#include "assay/ops/infer.h"

namespace assay {
namespace {

using model::Forward;
using model::Parameter;

// The share of a batch statistic in the running one.
constexpr float kStatisticShare = 0.1f;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 34;

std::vector<Parameter> SortedParameters(const ModelConfig& config) {
  std::vector<Parameter> out = std::visit([](const auto& c) { return model::Parameters(c); }, config);
  std::sort(out.begin(), out.end(), [](const Parameter& a, const Parameter& b) { return a.name < b.name; });
  return out;
}

TensorType F32(const Shape& shape) { return {DType::kF32, shape}; }

struct Fields {
  std::string input_name, target_name;
  TensorType input, target;
};

Fields BatchFields(const ModelConfig& config, const BatchConfig& batch) {
  const std::int64_t n = batch.microbatch;
  const TensorType labels{DType::kI32, {n}};
  if (const auto* c = std::get_if<ResNetConfig>(&config)) {
    return {"images", "labels", F32({n, c->height(), c->columns(), c->channels}), labels};
  }
  if (const auto* c = std::get_if<MlpConfig>(&config)) return {"features", "labels", F32({n, c->inputs}), labels};
  const TensorType tokens{DType::kI32, {n, batch.sequence}};
  return {"tokens", "targets", tokens, tokens};
}

ValueId MeanLoss(OpBuilder& ops, ValueId logits, ValueId targets) {
  return ops.Mean(ops.CrossEntropy(logits, targets).front());
}

// Inputs "state/NAME" for the parameters that `wanted` accepts, then the batch fields, then "rng".
struct Inputs {
  ParameterValues parameters;
  ValueId input = 0, target = 0, rng = 0;
};

template <class Wanted>
Inputs DeclareInputs(GraphBuilder& builder, const std::vector<Parameter>& parameters, const Fields& fields, bool targets,
                     const Wanted& wanted) {
  Inputs in;
  for (const Parameter& p : parameters) {
    if (wanted(p)) in.parameters[p.name] = builder.Input("state/" + p.name, F32(p.shape));
  }
  in.input = builder.Input("batch/" + fields.input_name, fields.input);
  if (targets) in.target = builder.Input("batch/" + fields.target_name, fields.target);
  in.rng = builder.Input("rng", {DType::kU32, {4}});
  return in;
}

ValueId EmitLogits(const ModelConfig& config, Forward& forward, ValueId input) {
  return std::visit([&](const auto& c) { return model::Logits(c, forward, input); }, config);
}

Graph BuildMicro(const ModelConfig& config, const BatchConfig& batch, const std::vector<Parameter>& parameters, int digits) {
  GraphBuilder builder(Ops());
  OpBuilder ops(builder, digits);
  const auto trained = [](const Parameter& p) { return p.trained; };
  const Inputs in = DeclareInputs(builder, parameters, BatchFields(config, batch), true, trained);
  Forward forward(ops, in.parameters, in.rng, true);
  const ValueId loss = MeanLoss(ops, EmitLogits(config, forward, in.input), in.target);

  std::vector<ValueId> wrt;
  for (const Parameter& p : parameters) {
    if (p.trained) wrt.push_back(in.parameters.at(p.name));
  }
  const std::vector<ValueId> gradients = Gradients(builder, loss, wrt, kAutodiffOps);
  builder.Output("loss", loss);
  std::size_t next = 0;
  for (const Parameter& p : parameters) {
    if (p.trained) builder.Output("grad/" + p.name, gradients[next++]);
  }
  for (const auto& [name, value] : forward.statistics()) builder.Output("stat/" + name, value);
  return std::move(builder).Finish();
}

// The names of the optimizer's own tensors for one parameter.
std::vector<std::string> OptimizerState(const OptimizerConfig& optimizer, const std::string& name) {
  if (optimizer.kind != OptimizerKind::kSgd) return {"adam.m/" + name, "adam.v/" + name};
  if (optimizer.momentum == 0) return {};
  return {"sgd.m/" + name};
}

struct UpdateInputs {
  ValueId lr = 0, step = 0, factor = 0;
};

// New values of the parameter and of its optimizer state, in that order.
std::vector<ValueId> EmitOptimizer(OpBuilder& ops, const OptimizerConfig& o, const Parameter& p, ValueId value,
                                   ValueId gradient, const std::vector<ValueId>& moments, const UpdateInputs& in) {
  const float decay = p.shape.rank() > 1 ? o.weight_decay : 0.0f;
  if (o.kind == OptimizerKind::kSgd) {
    // Without momentum the op leaves m alone, so any tensor of the right shape will do and none need be kept.
    const ValueId m = moments.empty() ? value : moments[0];
    std::vector<ValueId> out = ops.Sgd(value, gradient, m, in.lr, in.factor, o.momentum, o.dampening, decay, o.nesterov);
    out.resize(1 + moments.size());
    return out;
  }
  return ops.Adam(value, gradient, moments[0], moments[1], in.lr, in.factor, in.step, o.beta1, o.beta2, o.eps, decay,
                  o.kind == OptimizerKind::kAdamW);
}

Graph BuildUpdate(const OptimizerConfig& optimizer, const std::vector<Parameter>& parameters) {
  GraphBuilder builder(Ops());
  OpBuilder ops(builder);
  std::unordered_map<std::string, ValueId> state, reduced;
  for (const Parameter& p : parameters) {
    state[p.name] = builder.Input("state/" + p.name, F32(p.shape));
    if (!p.trained) continue;
    for (const std::string& name : OptimizerState(optimizer, p.name))
      state[name] = builder.Input("state/" + name, F32(p.shape));
  }
  for (const Parameter& p : parameters) {
    reduced[p.name] = builder.Input((p.trained ? "reduced/grad/" : "reduced/stat/") + p.name, F32(p.shape));
  }
  UpdateInputs in;
  in.lr = builder.Input("lr", F32({}));
  in.step = builder.Input("step", {DType::kI64, {}});

  std::vector<ValueId> squares;
  for (const Parameter& p : parameters) {
    if (p.trained) squares.push_back(ops.SumSquares(reduced.at(p.name)));
  }
  const std::vector<ValueId> clip = ops.ClipScale(std::move(squares), optimizer.clip_norm);
  in.factor = clip[1];

  for (const Parameter& p : parameters) {
    if (!p.trained) {
      const ValueId kept = ops.Scale(state.at(p.name), 1.0f - kStatisticShare);
      builder.Output("state/" + p.name, ops.Add(kept, ops.Scale(reduced.at(p.name), kStatisticShare)));
      continue;
    }
    const std::vector<std::string> names = OptimizerState(optimizer, p.name);
    std::vector<ValueId> moments;
    for (const std::string& name : names) moments.push_back(state.at(name));
    const auto out = EmitOptimizer(ops, optimizer, p, state.at(p.name), reduced.at(p.name), moments, in);
    builder.Output("state/" + p.name, out[0]);
    for (std::size_t k = 0; k < names.size(); ++k) builder.Output("state/" + names[k], out[k + 1]);
  }
  builder.Output("metric/grad_norm", clip[0]);
  return std::move(builder).Finish();
}

Graph BuildForward(const ModelConfig& config, const BatchConfig& batch, bool loss, int digits) {
  GraphBuilder builder(Ops());
  OpBuilder ops(builder, digits);
  const Inputs in =
      DeclareInputs(builder, SortedParameters(config), BatchFields(config, batch), loss, [](const Parameter&) { return true; });
  Forward forward(ops, in.parameters, in.rng, false);
  const ValueId logits = EmitLogits(config, forward, in.input);
  if (loss) builder.Output("loss", MeanLoss(ops, logits, in.target));
  builder.Output("logits", logits);
  return std::move(builder).Finish();
}

}  // namespace

namespace {

// The largest tensors between the nodes of a microbatch; their shapes follow from numbers that users give.
std::vector<Shape> LargestValues(const Gpt2Config& c, const BatchConfig& b) {
  return {{b.microbatch, b.sequence, c.vocab},
          {b.microbatch, b.sequence, 4 * c.width},
          {b.microbatch, c.heads, b.sequence, b.sequence}};
}
std::vector<Shape> LargestValues(const LlamaConfig& c, const BatchConfig& b) {
  return {{b.microbatch, b.sequence, c.vocab},
          {b.microbatch, b.sequence, std::max(c.hidden, 3 * c.width)},
          {b.microbatch, c.heads, b.sequence, b.sequence}};
}
std::vector<Shape> LargestValues(const ResNetConfig& c, const BatchConfig& b) {
  return {{b.microbatch, c.height(), c.columns(), std::max(c.channels, 4 * c.width)},
          {b.microbatch, std::max(c.classes, 32 * c.width)}};
}
std::vector<Shape> LargestValues(const MlpConfig& c, const BatchConfig& b) {
  std::int64_t widest = std::max(c.inputs, c.classes);
  for (const std::int64_t width : c.hidden) widest = std::max(widest, width);
  return {{b.microbatch, widest}};
}

}  // namespace

Status Check(const ModelConfig& config, const BatchConfig& batch) {
  ASSAY_TRY(model::CheckRange("batch.microbatch", batch.microbatch, 1, 1 << 20));
  ASSAY_TRY(model::CheckRange("batch.microbatches", batch.microbatches, 1, 1 << 16));
  ASSAY_TRY(std::visit([&](const auto& c) { return model::CheckConfig(c, batch); }, config));
  for (const Parameter& p : SortedParameters(config)) {
    if (p.shape.elements() > kMaxElements)
      return Err("model: {} would have {} elements, at most {} fit", p.name, p.shape.elements(), kMaxElements);
  }
  return {};
}

Status CheckSizes(const ModelConfig& config, const BatchConfig& batch) {
  for (const Shape& shape : std::visit([&](const auto& c) { return LargestValues(c, batch); }, config)) {
    if (ops::TooLarge(shape)) {
      return Err("batch.microbatch: {} gives tensors of {} elements, at most {} fit", batch.microbatch, ToString(shape),
                 kMaxElements);
    }
  }
  return {};
}

Program BuildProgram(const ModelConfig& config, const OptimizerConfig& optimizer, const BatchConfig& batch, int digits) {
  const std::vector<Parameter> parameters = SortedParameters(config);
  Program program;
  for (const Parameter& p : parameters) {
    program.state.push_back({p.name, F32(p.shape), p.init});
    if (!p.trained) continue;
    for (const std::string& name : OptimizerState(optimizer, p.name)) program.state.push_back({name, F32(p.shape), {}});
  }
  std::sort(program.state.begin(), program.state.end(), [](const StateSpec& a, const StateSpec& b) { return a.name < b.name; });
  program.microbatches = batch.microbatches;
  program.micro = BuildMicro(config, batch, parameters, digits);
  program.update = BuildUpdate(optimizer, parameters);
  return program;
}

Graph BuildEval(const ModelConfig& config, const BatchConfig& batch, int digits) {
  return BuildForward(config, batch, true, digits);
}
Graph BuildLogits(const ModelConfig& config, const BatchConfig& batch, int digits) {
  return BuildForward(config, batch, false, digits);
}

std::vector<StateSpec> ModelState(const ModelConfig& config) {
  std::vector<StateSpec> out;
  for (const Parameter& p : SortedParameters(config)) out.push_back({p.name, F32(p.shape), p.init});
  return out;
}

std::int64_t ParameterCount(const ModelConfig& config) {
  std::int64_t count = 0;
  for (const Parameter& p : SortedParameters(config)) count += p.trained ? p.shape.elements() : 0;
  return count;
}

}  // namespace assay
