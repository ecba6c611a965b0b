// Our engine against PyTorch from the same weights on the same data: loss and gradients of one batch, and the loss of 50 steps. The
// reference values are made by scripts/parity_reference.py and checked in, so that this test needs no PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "assay/backend/ref/ref_backend.h"
#include "assay/base/thread_pool.h"
#include "assay/exec/executor.h"
#include "parity_case.h"
#ifndef ASSAY_PORTABLE
#include "assay/backend/cpu/cpu.h"
#endif

namespace assay::parity {
namespace {

// Relative, for losses and gradient norms; for single entries relative to the largest entry of their gradient.
constexpr double kTolerance = 1e-4;

nlohmann::json Reference(const std::string& name) {
  std::ifstream in(std::string(ASSAY_PARITY_FOLDER) + "/" + name + ".json");
  return nlohmann::json::parse(in);
}

std::unique_ptr<Backend> MakeBackend(ThreadPool& pool) {
#ifndef ASSAY_PORTABLE
  const std::vector<cpu::Simd> simd = cpu::SupportedSimd();
  if (!simd.empty()) return cpu::MakeCpuBackend(simd.front(), pool);
#endif
  return ref::MakeRefBackend(pool);
}

// The outputs of the program's microbatch graph on the first batch.
std::vector<Tensor> FirstBatch(const Case& c, const Program& program, const State& state, std::uint32_t salt,
                               Backend& backend) {
  std::vector<Tensor> fields;
  Tensor rng(DType::kU32, {4});
  std::vector<const void*> in;
  for (const NamedValue& input : program.micro.inputs()) {
    if (input.name.starts_with("batch/")) fields.emplace_back(program.micro.type(input.value));
  }
  Load(c, salt, 0, fields);
  std::size_t next_field = 0;
  for (const NamedValue& input : program.micro.inputs()) {
    if (input.name.starts_with("batch/")) {
      in.push_back(fields[next_field++].data());
    } else if (input.name == "rng") {
      in.push_back(rng.data());
    } else {
      const auto is_it = [&](const StateSpec& spec) { return "state/" + spec.name == input.name; };
      const auto found = std::find_if(program.state.begin(), program.state.end(), is_it);
      in.push_back(state[static_cast<std::size_t>(found - program.state.begin())].data());
    }
  }
  std::vector<Tensor> outputs;
  std::vector<void*> out;
  for (const NamedValue& output : program.micro.outputs()) {
    out.push_back(outputs.emplace_back(program.micro.type(output.value)).data());
  }
  Executor(program.micro, backend, {}).Run(in, out);
  return outputs;
}

void ExpectGradient(const std::string& name, std::span<const float> ours, const nlohmann::json& reference) {
  double squares = 0;
  for (const float g : ours) squares += static_cast<double>(g) * g;
  const double norm = reference.at("norm");
  EXPECT_NEAR(std::sqrt(squares), norm, kTolerance * norm) << name;
  const double largest = reference.at("max");
  for (const nlohmann::json& sample : reference.at("samples")) {
    const std::size_t index = sample.at(0);
    ASSERT_LT(index, ours.size()) << name;
    EXPECT_NEAR(ours[index], sample.at(1).get<double>(), kTolerance * largest) << name << "[" << index << "]";
  }
}

void CompareGradients(const Case& c, const nlohmann::json& reference, const State& state, Backend& backend) {
  const Program program = BuildProgram(c.model, c.optimizer, c.gradient_batch);
  const std::vector<Tensor> outputs = FirstBatch(c, program, state, reference.at("salt"), backend);
  std::size_t compared = 0;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::string& name = program.micro.outputs()[k].name;
    if (!name.starts_with("grad/")) continue;
    ASSERT_TRUE(reference.at("gradients").contains(name.substr(5))) << name;
    ExpectGradient(name, outputs[k].Span<const float>(), reference.at("gradients").at(name.substr(5)));
    ++compared;
  }
  EXPECT_EQ(compared, reference.at("gradients").size());
}

void CompareTraining(const Case& c, const nlohmann::json& reference, const Program& program, State& state, Backend& backend) {
  const std::uint32_t salt = reference.at("salt");
  StepRunner runner(program, backend);
  StepInput input;
  input.seed = kSeed;
  input.lr = c.lr;
  input.load = [&](std::int64_t, std::span<Tensor> fields) { Load(c, salt, input.step % c.batches, fields); };
  double worst = 0;
  for (const nlohmann::json& step : reference.at("loss")) {
    const double theirs = step, ours = runner.Run(state, input).loss;
    EXPECT_NEAR(ours, theirs, kTolerance * theirs) << "step " << input.step;
    worst = std::max(worst, std::abs(ours - theirs) / theirs);
    ++input.step;
  }
  EXPECT_EQ(input.step, 50u);
  std::printf("%s: largest relative difference of the loss over %u steps: %.1e\n", c.name.c_str(), input.step, worst);
}

void CompareWithTorch(const Case& c) {
  const nlohmann::json reference = Reference(c.name);
  ThreadPool pool(2);
  const std::unique_ptr<Backend> backend = MakeBackend(pool);
  const Program program = BuildProgram(c.model, c.optimizer, c.training_batch);
  State state = InitialWeights(program);
  CompareGradients(c, reference, state, *backend);
  CompareTraining(c, reference, program, state, *backend);
}

TEST(Parity, Gpt2) { CompareWithTorch(Gpt2Case()); }
TEST(Parity, ResNet50) { CompareWithTorch(ResNet50Case()); }

}  // namespace
}  // namespace assay::parity
