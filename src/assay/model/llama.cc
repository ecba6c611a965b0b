// Llama-style transformers with Hugging Face's names: RMSNorm, rotary positions on half pairs, SwiGLU, grouped queries; weights [out, in].
// With biases on queries, keys and values they are those of Qwen2.
#include <cmath>

#include "assay/model/forward.h"

namespace assay::model {
namespace {

constexpr Init kWeight{InitKind::kNormal, 0.02f};
constexpr Init kGain{InitKind::kConstant, 1.0f};
constexpr Init kBias{InitKind::kConstant, 0.0f};

ValueId Norm(const LlamaConfig& config, Forward& f, ValueId x, const std::string& name) {
  return f.ops().RmsNorm(x, f[name + ".weight"], config.norm_eps).front();
}

ValueId Attention(const LlamaConfig& config, Forward& f, ValueId x, const Shape& tokens, const std::string& name) {
  OpBuilder& ops = f.ops();
  const std::int64_t head = config.width / config.heads;
  const Shape query_heads{tokens[0], tokens[1], config.heads, head};
  const Shape key_heads{tokens[0], tokens[1], config.kv_heads, head};
  const ValueId q = ops.Rope(ops.Reshape(f.Linear(x, name + ".q_proj", config.qkv_bias), query_heads), config.rope_base);
  const ValueId k = ops.Rope(ops.Reshape(f.Linear(x, name + ".k_proj", config.qkv_bias), key_heads), config.rope_base);
  const ValueId v = ops.Reshape(f.Linear(x, name + ".v_proj", config.qkv_bias), key_heads);
  const float scale = 1.0f / std::sqrt(static_cast<float>(head));
  const ValueId o = ops.Attention(q, k, v, f.rng(), true, scale, 0.0f, f.NextStream()).front();
  return f.Linear(ops.Reshape(o, {tokens.elements(), config.width}), name + ".o_proj", false);
}

ValueId FeedForward(Forward& f, ValueId x, const std::string& name) {
  OpBuilder& ops = f.ops();
  const ValueId gate = ops.Unary(op::silu, f.Linear(x, name + ".gate_proj", false));
  return f.Linear(ops.Mul(gate, f.Linear(x, name + ".up_proj", false)), name + ".down_proj", false);
}

}  // namespace

std::vector<Parameter> Parameters(const LlamaConfig& config) {
  const std::int64_t key_width = config.width / config.heads * config.kv_heads;
  std::vector<Parameter> out;
  out.push_back({"model.embed_tokens.weight", {config.vocab, config.width}, kWeight});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = fmt::format("model.layers.{}.", layer);
    out.push_back({h + "input_layernorm.weight", {config.width}, kGain});
    out.push_back({h + "self_attn.q_proj.weight", {config.width, config.width}, kWeight});
    out.push_back({h + "self_attn.k_proj.weight", {key_width, config.width}, kWeight});
    out.push_back({h + "self_attn.v_proj.weight", {key_width, config.width}, kWeight});
    if (config.qkv_bias) {
      out.push_back({h + "self_attn.q_proj.bias", {config.width}, kBias});
      out.push_back({h + "self_attn.k_proj.bias", {key_width}, kBias});
      out.push_back({h + "self_attn.v_proj.bias", {key_width}, kBias});
    }
    out.push_back({h + "self_attn.o_proj.weight", {config.width, config.width}, kWeight});
    out.push_back({h + "post_attention_layernorm.weight", {config.width}, kGain});
    out.push_back({h + "mlp.gate_proj.weight", {config.hidden, config.width}, kWeight});
    out.push_back({h + "mlp.up_proj.weight", {config.hidden, config.width}, kWeight});
    out.push_back({h + "mlp.down_proj.weight", {config.width, config.hidden}, kWeight});
  }
  out.push_back({"model.norm.weight", {config.width}, kGain});
  if (!config.tied) out.push_back({"lm_head.weight", {config.vocab, config.width}, kWeight});
  return out;
}

ValueId Logits(const LlamaConfig& config, Forward& f, ValueId tokens) {
  OpBuilder& ops = f.ops();
  const Shape shape = ops.shape(tokens);
  ValueId x = ops.Reshape(ops.Embedding(f["model.embed_tokens.weight"], tokens), {shape.elements(), config.width});
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string h = fmt::format("model.layers.{}.", layer);
    x = ops.Add(x, Attention(config, f, Norm(config, f, x, h + "input_layernorm"), shape, h + "self_attn"));
    x = ops.Add(x, FeedForward(f, Norm(config, f, x, h + "post_attention_layernorm"), h + "mlp"));
  }
  x = Norm(config, f, x, "model.norm");
  return f.Linear(x, config.tied ? "model.embed_tokens" : "lm_head", false);
}

Status CheckConfig(const LlamaConfig& config, const BatchConfig& batch) {
  ASSAY_TRY(CheckRange("model.vocab", config.vocab, 1, 1 << 20));
  ASSAY_TRY(CheckRange("model.context", config.context, 1, 1 << 20));
  ASSAY_TRY(CheckRange("model.layers", config.layers, 1, 256));
  ASSAY_TRY(CheckRange("model.width", config.width, 1, 1 << 16));
  ASSAY_TRY(CheckRange("model.hidden", config.hidden, 1, 1 << 18));
  ASSAY_TRY(CheckRange("model.heads", config.heads, 1, config.width));
  ASSAY_TRY(CheckRange("model.kv_heads", config.kv_heads, 1, config.heads));
  if (config.width % config.heads != 0) {
    return Err("model.heads: {} heads must divide the width {}", config.heads, config.width);
  }
  const std::int64_t head = config.width / config.heads;
  if (head % 2 != 0 || head > 256) return Err("model.heads: a head's width must be even and at most 256, got {}", head);
  if (config.heads % config.kv_heads != 0) {
    return Err("model.kv_heads: expected a divisor of model.heads ({}), got {}", config.heads, config.kv_heads);
  }
  if (!(config.rope_base > 0)) return Err("model.rope_base: expected a number > 0, got {}", config.rope_base);
  if (!(config.norm_eps > 0)) return Err("model.norm_eps: expected a number > 0, got {}", config.norm_eps);
  return CheckSequence(batch.sequence, config.context);
}

}  // namespace assay::model
