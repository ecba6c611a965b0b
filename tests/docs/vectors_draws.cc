// Random draws, the order of samples, and learning rates.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "assay/base/philox.h"
#include "assay/data/dataset.h"
#include "assay/exec/step.h"
#include "assay/job/learning_rate.h"
#include "assay/numerics/random.h"
#include "docs/json.h"
#include "docs/vectors.h"

namespace assay::docs {
namespace {

constexpr std::uint64_t kSeeds[] = {0, 1, 0x0123456789abcdef};

std::string Number(auto value) { return fmt::format("{}", value); }
std::string Hex(std::uint64_t value) { return Quoted(fmt::format("{:016x}", value)); }
std::string Words(std::span<const std::uint32_t> words) {
  std::string text;
  for (std::uint32_t word : words) text += fmt::format("{}{:08x}", text.empty() ? "" : " ", word);
  return Quoted(text);
}
std::string Floats(std::span<const float> values) {
  std::string text;
  for (float value : values) text += (text.empty() ? "" : " ") + Bits(value);
  return Quoted(text);
}

std::string Blocks() {
  const std::pair<PhiloxKey, PhiloxBlock> cases[] = {
      {{0, 0}, {0, 0, 0, 0}},
      {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
      {{0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
      {{1, 0}, {0, 0x20000000, 3, 5}}};
  std::vector<std::string> entries;
  for (const auto& [key, counter] : cases) {
    entries.push_back(Object({{"key", Words(key)}, {"counter", Words(counter)}, {"block", Words(Philox(key, counter))}}));
  }
  return Lines(entries, 2);
}

// Elements 0 … 9 of one stream as they are, as uniform and as normal variates.
std::string Variates() {
  std::vector<std::string> entries;
  for (std::uint64_t seed : kSeeds) {
    const numerics::DrawKey key{.seed = seed, .stream = 7, .step = 11, .microbatch = 2};
    std::vector<std::uint32_t> draws;
    std::vector<float> uniform, normal;
    for (std::int64_t i = 0; i < 10; ++i) {
      draws.push_back(numerics::DrawU32(key, i));
      uniform.push_back(numerics::DrawUniform(key, i));
      normal.push_back(numerics::DrawNormal(key, i));
    }
    entries.push_back(Object({{"seed", Hex(seed)},
                              {"stream", "7"},
                              {"step", "11"},
                              {"microbatch", "2"},
                              {"draws", Words(draws)},
                              {"uniform", Floats(uniform)},
                              {"normal", Floats(normal)}}));
  }
  return Lines(entries, 2);
}

std::string Dropout() {
  std::vector<std::string> entries;
  for (float p : {0.0f, 1e-9f, 0.1f, 0.25f, 0.5f, 0.99999994f}) {
    entries.push_back(Object({{"p", Quoted(Bits(p))},
                              {"threshold", Number(numerics::DropoutThreshold(p))},
                              {"factor", Quoted(Bits(numerics::DropoutFactor(p)))}}));
  }
  return Lines(entries, 2);
}

// Tensor 1 of a state of two.
std::string Starts() {
  std::vector<std::string> entries;
  for (const Init init : {Init{InitKind::kConstant, 0.5f}, Init{InitKind::kNormal, 0.02f}, Init{InitKind::kUniform, 0.1f}}) {
    Program program;
    program.state = {{"a", {DType::kF32, {1}}, {}}, {"b", {DType::kF32, {10}}, init}};
    for (std::uint64_t seed : kSeeds) {
      const State state = InitialState(program, seed);
      entries.push_back(Object({{"seed", Hex(seed)},
                                {"tensor", "1"},
                                {"kind", Number(static_cast<int>(init.kind))},
                                {"value", Quoted(Bits(init.value))},
                                {"elements", Elements(state[1])}}));
    }
  }
  return Lines(entries, 2);
}

std::string Orders() {
  struct Case {
    std::uint64_t seed;
    std::int64_t samples;
    std::uint32_t step;
    std::int64_t count;
  };
  const Case cases[] = {{1, 1, 0, 3},
                        {1, 2, 5, 4},
                        {1, 3, 0, 6},
                        {2, 4, 1, 4},
                        {3, 5, 7, 10},
                        {1, 17, 2, 20},
                        {1, 3686, 10, 16},
                        {0x0123456789abcdef, 1000003, 99999, 8},
                        {5, std::int64_t{1} << 40, 0xffffffff, 8}};
  std::vector<std::string> entries;
  for (const Case& c : cases) {
    entries.push_back(Object({{"seed", Hex(c.seed)},
                              {"samples", Number(c.samples)},
                              {"step", Number(c.step)},
                              {"count", Number(c.count)},
                              {"indices", Integers(BatchIndices(c.seed, c.samples, c.step, c.count))}}));
  }
  return Lines(entries, 2);
}

std::string Rates() {
  const std::pair<const char*, Schedule> schedules[] = {
      {"constant", {.kind = ScheduleKind::kConstant, .lr = 0.05f, .warmup = 3}},
      {"warmup_cosine", {.kind = ScheduleKind::kWarmupCosine, .lr = 6e-4f, .warmup = 10, .min_lr = 6e-5f, .length = 100}},
      {"warmup_cosine", {.kind = ScheduleKind::kWarmupCosine, .lr = 1.0f, .warmup = 0, .min_lr = 0.0f, .length = 4000000000}},
      {"step", {.kind = ScheduleKind::kStep, .lr = 0.1f, .warmup = 2, .every = 30, .gamma = 0.1f}}};
  std::vector<std::string> entries;
  for (const auto& [kind, s] : schedules) {
    std::vector<std::string> rates;
    for (std::int64_t step : {0, 1, 2, 9, 10, 11, 50, 99, 100, 101, 1000, 123456789}) {
      rates.push_back(Quoted(fmt::format("{} {}", step, Bits(LearningRate(s, step)))));
    }
    entries.push_back(Object({{"kind", Quoted(kind)},
                              {"lr", Quoted(Bits(s.lr))},
                              {"warmup", Number(s.warmup)},
                              {"min_lr", Quoted(Bits(s.min_lr))},
                              {"length", Number(s.length)},
                              {"every", Number(s.every)},
                              {"gamma", Quoted(Bits(s.gamma))},
                              {"rates", fmt::format("[{}]", fmt::join(rates, ", "))}}));
  }
  return Lines(entries, 2);
}

}  // namespace

std::string DrawVectors() {
  return fmt::format(
      "{{\n  \"philox\": {},\n  \"variates\": {},\n  \"dropout\": {},\n  \"starts\": {},\n  \"orders\": {},\n  \"rates\": "
      "{}\n}}\n",
      Blocks(), Variates(), Dropout(), Starts(), Orders(), Rates());
}

}  // namespace assay::docs
