// Models: graph builders for GPT-2, Llama-style transformers, ResNets and MLPs, and the assembly of a whole training step from one.
//
// A Model names its parameters and statistics and emits its forward pass; everything else (loss, gradients, clipping, optimizer) is the
// same for all and is added by BuildProgram.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "assay/base/result.h"
#include "assay/graph/program.h"
#include "assay/ops/builder.h"

namespace assay {

struct Gpt2Config {
  std::int64_t vocab = 50257, context = 1024, layers = 12, heads = 12, width = 768;
  float dropout = 0.1f;  // embedding, attention and residual
  float norm_eps = 1e-5f;

  friend bool operator==(const Gpt2Config&, const Gpt2Config&) = default;
};

struct LlamaConfig {
  std::int64_t vocab = 32000, context = 2048, layers = 22, heads = 32, kv_heads = 4, width = 2048, hidden = 5632;
  float rope_base = 10000.0f, norm_eps = 1e-5f;
  bool tied = false;
  bool qkv_bias = false;  // of the projections to queries, keys and values, as Qwen2 has them

  friend bool operator==(const LlamaConfig&, const LlamaConfig&) = default;
};

struct ResNetConfig {
  std::int64_t depth = 18;  // 18 or 50
  bool cifar_stem = true;   // 3x3 stride 1 without pooling; otherwise 7x7 stride 2 and a 3x3 max pool
  std::int64_t classes = 10, image = 32, channels = 3, width = 64;
  std::int64_t image_width = 0;  // of images that are not square, whose height `image` is; 0: they are

  std::int64_t height() const { return image; }
  std::int64_t columns() const { return image_width == 0 ? image : image_width; }
};

struct MlpConfig {
  std::int64_t inputs = 784, classes = 10;
  std::vector<std::int64_t> hidden;  // empty: logistic regression
  std::string activation = "relu";   // relu, gelu, silu, tanh
};

using ModelConfig = std::variant<Gpt2Config, LlamaConfig, ResNetConfig, MlpConfig>;

enum class OptimizerKind : std::uint8_t { kSgd, kAdam, kAdamW };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::kAdamW;
  float momentum = 0.9f, dampening = 0;  // sgd
  bool nesterov = false;                 // sgd
  float beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f;
  float weight_decay = 0;  // on matrices and convolution weights; vectors (biases, norms) are exempt
  float clip_norm = 0;     // 0: no clipping
};

struct BatchConfig {
  std::int64_t microbatch = 8;    // samples in a microbatch
  std::int64_t microbatches = 1;  // per step
  std::int64_t sequence = 64;     // tokens per sample; language models only
};

// The parameters' values inside one graph.
using ParameterValues = std::unordered_map<std::string, ValueId>;

// Why a configuration cannot be built ("heads (5) must divide width (64)"), with the field's name in job files.
Status Check(const ModelConfig& model, const BatchConfig& batch);
// The same, once all extents are known, of what lies between the nodes: no tensor has more than 2^34 elements.
Status CheckSizes(const ModelConfig& model, const BatchConfig& batch);

// The whole step. Language models read batch/tokens i32[B,T] and batch/targets i32[B,T]; image models batch/images f32[B,H,W,C] and
// batch/labels i32[B]; MLPs batch/features f32[B,F] and batch/labels i32[B].
// `digits`: of its contractions (docs/NUMERICS.md, section 7); 0: none.
Program BuildProgram(const ModelConfig& model, const OptimizerConfig& optimizer, const BatchConfig& batch, int digits = 0);

// Forward passes without dropout, with running statistics. Inputs "state/NAME" for every parameter and statistic in name order, the batch
// fields, and "rng" u32[4], whose value does not matter; outputs "loss" (mean over the rows) and "logits" [rows, classes].
Graph BuildEval(const ModelConfig& model, const BatchConfig& batch, int digits = 0);
// The same without targets and loss.
Graph BuildLogits(const ModelConfig& model, const BatchConfig& batch, int digits = 0);

// Parameters and running statistics of the model alone (no optimizer state), in name order.
std::vector<StateSpec> ModelState(const ModelConfig& model);
// Trained elements; running statistics do not count.
std::int64_t ParameterCount(const ModelConfig& model);

}  // namespace assay
