// GPT-2 with the parameter names and layouts of Hugging Face's files: projections are stored [in, out], the output layer is the token
// embedding.
#include <cmath>

#include "assay/model/forward.h"

namespace assay::model {
namespace {

void AddNorm(std::vector<Parameter>& out, const std::string& name, std::int64_t width) {
  out.push_back({name + ".weight", {width}, {InitKind::kConstant, 1.0f}});
  out.push_back({name + ".bias", {width}, {InitKind::kConstant, 0.0f}});
}

void AddProjection(std::vector<Parameter>& out, const std::string& name, std::int64_t in, std::int64_t outputs,
                   float deviation) {
  out.push_back({name + ".weight", {in, outputs}, {InitKind::kNormal, deviation}});
  out.push_back({name + ".bias", {outputs}, {InitKind::kConstant, 0.0f}});
}

ValueId Norm(const Gpt2Config& config, Forward& f, ValueId x, const std::string& name) {
  return f.ops().LayerNorm(x, f[name + ".weight"], f[name + ".bias"], config.norm_eps).front();
}

// Rows are [batch · time, width] throughout; only attention sees the four axes, and no axis ever moves.
ValueId Attention(const Gpt2Config& config, Forward& f, ValueId x, const Shape& tokens, const std::string& name) {
  OpBuilder& ops = f.ops();
  const std::int64_t width = config.width, head = width / config.heads;
  const Shape heads{tokens[0], tokens[1], config.heads, head};
  const ValueId qkv = f.Conv1d(x, name + ".c_attn");
  const ValueId q = ops.Reshape(ops.Slice(qkv, 1, 0, width), heads);
  const ValueId k = ops.Reshape(ops.Slice(qkv, 1, width, 2 * width), heads);
  const ValueId v = ops.Reshape(ops.Slice(qkv, 1, 2 * width, 3 * width), heads);
  const float scale = 1.0f / std::sqrt(static_cast<float>(head));
  const float dropout = f.train() ? config.dropout : 0.0f;
  const ValueId o = ops.Attention(q, k, v, f.rng(), true, scale, dropout, f.NextStream()).front();
  const ValueId rows = ops.Reshape(o, {tokens.elements(), width});
  return f.Dropout(f.Conv1d(rows, name + ".c_proj"), config.dropout);
}

}  // namespace

std::vector<Parameter> Parameters(const Gpt2Config& config) {
  const float residual = 0.02f / std::sqrt(2.0f * static_cast<float>(config.layers));
  std::vector<Parameter> out;
  out.push_back({"wte.weight", {config.vocab, config.width}, {InitKind::kNormal, 0.02f}});
  out.push_back({"wpe.weight", {config.context, config.width}, {InitKind::kNormal, 0.02f}});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = fmt::format("h.{}.", layer);
    AddNorm(out, h + "ln_1", config.width);
    AddProjection(out, h + "attn.c_attn", config.width, 3 * config.width, 0.02f);
    AddProjection(out, h + "attn.c_proj", config.width, config.width, residual);
    AddNorm(out, h + "ln_2", config.width);
    AddProjection(out, h + "mlp.c_fc", config.width, 4 * config.width, 0.02f);
    AddProjection(out, h + "mlp.c_proj", 4 * config.width, config.width, residual);
  }
  AddNorm(out, "ln_f", config.width);
  return out;
}

ValueId Logits(const Gpt2Config& config, Forward& f, ValueId tokens) {
  OpBuilder& ops = f.ops();
  const Shape shape = ops.shape(tokens);
  const ValueId positions = ops.Slice(f["wpe.weight"], 0, 0, shape[1]);
  ValueId x = ops.Binary(op::add, ops.Embedding(f["wte.weight"], tokens), positions);
  x = f.Dropout(ops.Reshape(x, {shape.elements(), config.width}), config.dropout);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = fmt::format("h.{}.", layer);
    x = ops.Add(x, Attention(config, f, Norm(config, f, x, h + "ln_1"), shape, h + "attn"));
    const ValueId hidden = ops.Unary(op::gelu_tanh, f.Conv1d(Norm(config, f, x, h + "ln_2"), h + "mlp.c_fc"));
    x = ops.Add(x, f.Dropout(f.Conv1d(hidden, h + "mlp.c_proj"), config.dropout));
  }
  return ops.Matmul(Norm(config, f, x, "ln_f"), f["wte.weight"], false, true);
}

Status CheckConfig(const Gpt2Config& config, const BatchConfig& batch) {
  ASSAY_TRY(CheckRange("model.vocab", config.vocab, 1, 1 << 20));
  ASSAY_TRY(CheckRange("model.context", config.context, 1, 1 << 20));
  ASSAY_TRY(CheckRange("model.layers", config.layers, 1, 256));
  ASSAY_TRY(CheckRange("model.width", config.width, 1, 1 << 16));
  ASSAY_TRY(CheckRange("model.heads", config.heads, 1, config.width));
  if (config.width % config.heads != 0) {
    return Err("model.heads: {} heads must divide the width {}", config.heads, config.width);
  }
  if (config.width / config.heads > 256) {
    return Err("model.heads: a head is at most 256 wide, got {} / {}", config.width, config.heads);
  }
  if (!(config.dropout >= 0 && config.dropout < 1)) return Err("model.dropout: expected 0 <= p < 1, got {}", config.dropout);
  if (!(config.norm_eps > 0)) return Err("model.norm_eps: expected a number > 0, got {}", config.norm_eps);
  return CheckSequence(batch.sequence, config.context);
}

}  // namespace assay::model
