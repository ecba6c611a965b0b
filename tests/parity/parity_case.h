// The two trainings that are compared with PyTorch, and the data they run on. scripts/parity_reference.py holds the same definitions in
// Python; the weights come from our own initialisation through parity_export, so that nothing large is checked in.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "assay/exec/step.h"
#include "assay/model/model.h"

namespace assay::parity {

struct Case {
  std::string name;
  ModelConfig model;
  OptimizerConfig optimizer;
  BatchConfig gradient_batch, training_batch;
  std::uint32_t batches = 0;  // that the training repeats in turn
  float lr = 0;
};

inline constexpr std::uint64_t kSeed = 1;

inline Case Gpt2Case() {
  Case c;
  c.name = "gpt2";
  Gpt2Config model;
  model.dropout = 0;
  c.model = model;
  c.optimizer = {.kind = OptimizerKind::kAdamW, .beta2 = 0.95f, .weight_decay = 0.1f, .clip_norm = 1.0f};
  c.gradient_batch = c.training_batch = {.microbatch = 2, .sequence = 32};
  c.batches = 50;
  c.lr = 3e-4f;
  return c;
}

// Gradients of a deep ReLU network are only as continuous as its ReLUs: where an input lies within a rounding error of zero, two correct
// implementations may take different sides. Small images and a damped residual branch (InitialWeights) keep such cases rare, the
// reference script picks a batch without one for the gradients, and a small learning rate over larger batches keeps the training stable.
inline Case ResNet50Case() {
  Case c;
  c.name = "resnet50";
  c.model = ResNetConfig{.depth = 50, .image = 16};
  c.optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0.9f, .weight_decay = 5e-4f};
  c.gradient_batch = {.microbatch = 4};
  c.training_batch = {.microbatch = 16};
  c.batches = 4;
  c.lr = 1.5e-4f;
  return c;
}

inline State InitialWeights(const Program& program) {
  State state = InitialState(program, kSeed);
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!program.state[i].name.starts_with("layer") || !program.state[i].name.ends_with("bn3.weight")) continue;
    for (float& gamma : state[i].Span<float>()) gamma = 0.1f;
  }
  return state;
}

// A well-mixed function of its argument.
constexpr std::uint32_t Mix(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bu;
  x = (x ^ (x >> 13)) * 0xc2b2ae35u;
  return x ^ (x >> 16);
}

constexpr std::uint32_t Draw(std::uint32_t salt, std::uint32_t step, std::size_t index) {
  return Mix(static_cast<std::uint32_t>(index) + Mix(step + Mix(salt)));
}

// Text over 64 scattered tokens: the loss starts near log(50257) and falls towards log(64).
inline void LoadTokens(std::uint32_t salt, std::uint32_t step, std::span<Tensor> fields) {
  const auto tokens = fields[0].Span<std::int32_t>();
  const auto targets = fields[1].Span<std::int32_t>();
  const auto time = static_cast<std::size_t>(fields[0].shape()[1]);
  const auto token = [&](std::size_t row, std::size_t t) {
    return static_cast<std::int32_t>(Draw(salt, step, row * (time + 1) + t) % 64 * 785 + 11);
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = token(i / time, i % time);
    targets[i] = token(i / time, i % time + 1);
  }
}

// Noise whose mean tells the class; every value is exact in binary32.
inline void LoadImages(std::uint32_t salt, std::uint32_t step, std::span<Tensor> fields) {
  const auto pixels = fields[0].Span<float>();
  const auto labels = fields[1].Span<std::int32_t>();
  const std::size_t size = pixels.size() / labels.size();
  for (std::size_t n = 0; n < labels.size(); ++n) {
    labels[n] = static_cast<std::int32_t>(Draw(salt + 1, step, n) % 10);
    const float mean = (static_cast<float>(labels[n]) - 4.5f) / 8.0f;
    for (std::size_t i = n * size; i < (n + 1) * size; ++i) {
      pixels[i] = static_cast<float>(Draw(salt, step, i) >> 16) / 32768.0f - 1.0f + mean;
    }
  }
}

inline void Load(const Case& c, std::uint32_t salt, std::uint32_t step, std::span<Tensor> fields) {
  if (std::holds_alternative<Gpt2Config>(c.model)) {
    LoadTokens(salt, step, fields);
  } else {
    LoadImages(salt, step, fields);
  }
}

}  // namespace assay::parity
