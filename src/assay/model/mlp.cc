// Multilayer perceptrons; without hidden layers, logistic regression. Weights layers.N.weight [out, in].
#include <cmath>
#include <optional>

#include "assay/model/forward.h"

namespace assay::model {
namespace {

std::optional<OpIndex> Activation(const std::string& name) {
  if (name == "relu") return op::relu;
  if (name == "gelu") return op::gelu_tanh;
  if (name == "silu") return op::silu;
  if (name == "tanh") return op::tanh;
  return std::nullopt;
}

}  // namespace

std::vector<Parameter> Parameters(const MlpConfig& config) {
  std::vector<Parameter> out;
  std::int64_t in = config.inputs;
  for (std::size_t layer = 0; layer <= config.hidden.size(); ++layer) {
    const std::int64_t outputs = layer < config.hidden.size() ? config.hidden[layer] : config.classes;
    const Init init{InitKind::kUniform, 1.0f / std::sqrt(static_cast<float>(in))};
    out.push_back({fmt::format("layers.{}.weight", layer), {outputs, in}, init});
    out.push_back({fmt::format("layers.{}.bias", layer), {outputs}, init});
    in = outputs;
  }
  return out;
}

ValueId Logits(const MlpConfig& config, Forward& f, ValueId features) {
  ValueId x = features;
  for (std::size_t layer = 0; layer < config.hidden.size(); ++layer) {
    x = f.ops().Unary(*Activation(config.activation), f.Linear(x, fmt::format("layers.{}", layer), true));
  }
  return f.Linear(x, fmt::format("layers.{}", config.hidden.size()), true);
}

Status CheckConfig(const MlpConfig& config, const BatchConfig&) {
  ASSAY_TRY(CheckRange("model.inputs", config.inputs, 1, 1 << 24));
  ASSAY_TRY(CheckRange("model.classes", config.classes, 1, 1 << 20));
  if (config.hidden.size() > 256) return Err("model.hidden: at most 256 layers, got {}", config.hidden.size());
  for (std::int64_t width : config.hidden) ASSAY_TRY(CheckRange("model.hidden", width, 1, 1 << 20));
  if (!Activation(config.activation)) {
    return Err("model.activation: expected relu, gelu, silu or tanh, got '{}'", config.activation);
  }
  return {};
}

}  // namespace assay::model
