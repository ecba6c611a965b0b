// Whole steps: the microbatch tree against a naive one, traced against fast, every backend, the update in place.
#include "assay/exec/step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "assay/graph/autodiff.h"
#include "assay/numerics/random.h"
#include "assay/ops/builder.h"
#include "conformance/backends.h"
#include "support/interpret.h"
#include "support/op_inputs.h"

namespace assay::testkit {
namespace {

const TensorType kWeight{DType::kF32, {12, 9}};
const TensorType kBias{DType::kF32, {9}};
const TensorType kBatch{DType::kF32, {5, 12}};

// A linear layer with dropout and tanh, Adam on the weight, SGD on the bias, a statistic with a running mean, and a metric.
Program MakeProgram(std::int64_t microbatches) {
  Program p;
  p.microbatches = microbatches;
  p.state = {
      {"bias", kBias, {InitKind::kUniform, 0.1f}},     {"m", kWeight, {}}, {"momentum", kBias, {}},
      {"running", kBias, {InitKind::kConstant, 1.0f}}, {"v", kWeight, {}}, {"weight", kWeight, {InitKind::kNormal, 0.5f}}};
  {
    GraphBuilder b(Ops());
    OpBuilder ops(b);
    const ValueId bias = b.Input("state/bias", kBias), weight = b.Input("state/weight", kWeight);
    const ValueId x = b.Input("batch/x", kBatch), rng = b.Input("rng", {DType::kU32, {4}});
    const ValueId h = ops.Binary(op::add, ops.Matmul(ops.Dropout(x, rng, 0.3f, 1), weight), bias);
    const ValueId y = ops.Unary(op::tanh, h);
    const ValueId loss = ops.Mean(ops.Mul(y, y));
    const std::vector<ValueId> wrt = {weight, bias};
    const std::vector<ValueId> d = Gradients(b, loss, wrt, kAutodiffOps);
    b.Output("loss", loss);
    b.Output("grad/weight", d[0]);
    b.Output("grad/bias", d[1]);
    b.Output("stat/mean", ops.Scale(ops.ColSum(h, 1), 0.2f));
    p.micro = std::move(b).Finish();
  }
  GraphBuilder b(Ops());
  OpBuilder ops(b);
  const ValueId bias = b.Input("state/bias", kBias), m = b.Input("state/m", kWeight),
                momentum = b.Input("state/momentum", kBias);
  const ValueId running = b.Input("state/running", kBias), v = b.Input("state/v", kWeight),
                weight = b.Input("state/weight", kWeight);
  const ValueId dw = b.Input("reduced/grad/weight", kWeight), db = b.Input("reduced/grad/bias", kBias);
  const ValueId mean = b.Input("reduced/stat/mean", kBias), lr = b.Input("lr", {DType::kF32, {}}),
                step = b.Input("step", {DType::kI64, {}});
  const auto clip = ops.ClipScale({ops.SumSquares(dw), ops.SumSquares(db)}, 0.05f);
  const auto adam = ops.Adam(weight, dw, m, v, lr, clip[1], step, 0.9f, 0.99f, 1e-8f, 0.01f, true);
  const auto sgd = ops.Sgd(bias, db, momentum, lr, clip[1], 0.9f, 0.0f, 0.0f, true);
  b.Output("state/weight", adam[0]);
  b.Output("state/m", adam[1]);
  b.Output("state/v", adam[2]);
  b.Output("state/bias", sgd[0]);
  b.Output("state/momentum", sgd[1]);
  b.Output("state/running", ops.Add(ops.Scale(running, 0.9f), ops.Scale(mean, 0.1f)));
  b.Output("metric/norm", clip[0]);
  p.update = std::move(b).Finish();
  return p;
}

StepInput MakeInput(std::uint32_t step) {
  StepInput input;
  input.seed = 0x123456789abcdefull;
  input.step = step;
  input.lr = 0.01f;
  input.load = [step](std::int64_t microbatch, std::span<Tensor> fields) {
    std::uint32_t i = 0;
    for (float& x : fields[0].Span<float>()) x = NormalDraw(1000 * step + static_cast<std::uint32_t>(microbatch), i++);
  };
  return input;
}

// The step by its definition: all microbatches, the tree level by level, then the update; nothing shared with the runner.
class NaiveStep {
 public:
  NaiveStep(const Program& program, const State& state, const StepInput& input) : program_(program) {
    std::vector<std::vector<Tensor>> level;
    for (std::int64_t m = 0; m < program.microbatches; ++m) level.push_back(Micro(state, input, m));
    while (level.size() > 1) {
      std::vector<std::vector<Tensor>> above;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) above.push_back(Sum(level[i], level[i + 1]));
      if (level.size() % 2 == 1) above.push_back(std::move(level.back()));
      level = std::move(above);
    }
    reduced = std::move(level.front());
    if (program.microbatches > 1) {
      for (Tensor& t : reduced) {
        for (float& x : t.Span<float>()) x = x * (1.0f / static_cast<float>(program.microbatches));
        Record({&t, 1});
      }
    }
    Update(state, input);
  }

  std::vector<Tensor> reduced;
  std::map<std::string, Tensor> outputs;
  std::vector<std::vector<Tensor>> trace;  // the outputs of each node, by its number

 private:
  void Record(std::span<const Tensor> values) {
    std::vector<Tensor>& node = trace.emplace_back();
    for (const Tensor& t : values) node.push_back(t.Clone());
  }

  void RecordNodes(const Graph& graph, std::span<const Tensor> values) {
    for (const Node& node : graph.nodes()) Record(values.subspan(node.first_output, node.outputs));
  }

  const Tensor& StateNamed(const State& state, std::string_view name) const {
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (program_.state[i].name == name) return state[i];
    }
    ADD_FAILURE() << name;
    return state[0];
  }

  std::vector<Tensor> Micro(const State& state, const StepInput& input, std::int64_t microbatch) {
    std::vector<Tensor> in;
    in.push_back(StateNamed(state, "bias").Clone());
    in.push_back(StateNamed(state, "weight").Clone());
    in.emplace_back(kBatch);
    input.load(microbatch, std::span(in).last(1));
    in.emplace_back(DType::kU32, Shape{4});
    const auto rng = in.back().Span<std::uint32_t>();
    rng[0] = static_cast<std::uint32_t>(input.seed);
    rng[1] = static_cast<std::uint32_t>(input.seed >> 32);
    rng[2] = input.step;
    rng[3] = static_cast<std::uint32_t>(microbatch);
    const std::vector<Tensor> values = Interpret(program_.micro, in);
    RecordNodes(program_.micro, values);
    std::vector<Tensor> out;
    for (const NamedValue& output : program_.micro.outputs()) out.push_back(values[output.value].Clone());
    return out;
  }

  std::vector<Tensor> Sum(std::span<const Tensor> a, std::span<const Tensor> b) {
    std::vector<Tensor> sum;
    for (std::size_t k = 0; k < a.size(); ++k) {
      Tensor t(a[k].type());
      for (std::size_t i = 0; i < t.Span<float>().size(); ++i)
        t.Span<float>()[i] = a[k].Span<float>()[i] + b[k].Span<float>()[i];
      Record({&t, 1});
      sum.push_back(std::move(t));
    }
    return sum;
  }

  void Update(const State& state, const StepInput& input) {
    std::vector<Tensor> in;
    for (const char* name : {"bias", "m", "momentum", "running", "v", "weight"}) in.push_back(StateNamed(state, name).Clone());
    for (std::size_t k = 1; k < reduced.size(); ++k) in.push_back(reduced[k].Clone());
    in.emplace_back(DType::kF32, Shape{});
    in.back().Span<float>()[0] = input.lr;
    in.emplace_back(DType::kI64, Shape{});
    in.back().Span<std::int64_t>()[0] = input.step + 1;
    const std::vector<Tensor> values = Interpret(program_.update, in);
    RecordNodes(program_.update, values);
    for (const NamedValue& output : program_.update.outputs()) outputs.emplace(output.name, values[output.value].Clone());
  }

  const Program& program_;
};

class StepOfMicrobatches : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(StepOfMicrobatches, AgreesWithItsDefinition) {
  const Program program = MakeProgram(GetParam());
  for (const NamedBackend& named : AllBackends()) {
    for (const int mode : {0, 1, 2}) {  // fused, unfused, traced
      StepRunner runner(program, *named.backend, mode != 1);
      MemorySpace& memory = named.backend->memory();
      State state = MoveTo(memory, InitialState(program, 7));
      for (std::uint32_t step = 0; step < 4; ++step) {
        const NaiveStep naive(program, HostState(state).get(), MakeInput(step));
        std::vector<int> seen(runner.nodes(), 0);
        const TraceSink sink = [&](std::size_t node, std::span<const void* const> outputs) {
          ASSERT_LT(node, seen.size());
          ++seen[node];
          ASSERT_EQ(outputs.size(), naive.trace[node].size());
          for (std::size_t k = 0; k < outputs.size(); ++k) {
            const ByteSpan want = naive.trace[node][k].bytes();
            Bytes got(want.size());
            memory.CopyOut(got.data(), outputs[k], got.size());
            EXPECT_TRUE(std::ranges::equal(got, want)) << "node " << node << ", output " << k;
          }
        };
        const StepInput input = MakeInput(step);
        const StepResult result = mode == 2 ? runner.RunTraced(state, input, sink) : runner.Run(state, input);
        EXPECT_TRUE(std::ranges::all_of(seen, [&](int n) { return n == (mode == 2 ? 1 : 0); }));
        ASSERT_EQ(runner.nodes(), naive.trace.size());
        EXPECT_EQ(std::bit_cast<std::uint32_t>(result.loss), naive.reduced[0].Span<std::uint32_t>()[0]);
        ASSERT_EQ(result.metrics.size(), 1u);
        EXPECT_EQ(result.metrics[0].name, "norm");
        EXPECT_EQ(result.metrics[0].value, naive.outputs.at("metric/norm").Span<float>()[0]);
        for (std::size_t i = 0; i < state.size(); ++i) {
          const Tensor& want = naive.outputs.at("state/" + program.state[i].name);
          ASSERT_TRUE(std::ranges::equal(state[i].CopyTo(HostMemory()).bytes(), want.bytes()))
              << program.state[i].name << " on " << named.name << ", mode " << mode << ", step " << step;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, StepOfMicrobatches, ::testing::Values(1, 2, 3, 5, 6, 7, 8));

TEST(InitialState, IsAPureFunctionOfSeedAndIndex) {
  const Program program = MakeProgram(1);
  const State state = InitialState(program, 42);
  const auto weight = state[5].Span<float>();
  const numerics::DrawKey normal{.seed = 42, .stream = 0x10000005u, .step = 0, .microbatch = 0};
  for (std::size_t i = 0; i < weight.size(); ++i) {
    EXPECT_EQ(weight[i], numerics::DrawNormal(normal, static_cast<std::int64_t>(i)) * 0.5f);
  }
  const auto bias = state[0].Span<float>();
  const numerics::DrawKey uniform{.seed = 42, .stream = 0x10000000u, .step = 0, .microbatch = 0};
  for (std::size_t i = 0; i < bias.size(); ++i) {
    EXPECT_EQ(bias[i], (2 * numerics::DrawUniform(uniform, static_cast<std::int64_t>(i)) - 1) * 0.1f);
    EXPECT_LT(std::abs(bias[i]), 0.1f);
  }
  for (float x : state[3].Span<float>()) EXPECT_EQ(x, 1.0f);
  for (float x : state[1].Span<float>()) EXPECT_EQ(std::bit_cast<std::uint32_t>(x), 0u);
}

TEST(InitialState, DoesNotDependOnThreads) {
  Program program = MakeProgram(1);
  program.state = {{"big", {DType::kF32, {200001}}, {InitKind::kNormal, 2.0f}},
                   {"other", {DType::kF32, {70001}}, {InitKind::kUniform, 2.0f}}};
  const State alone = InitialState(program, 3);
  for (const int threads : {1, 2, 7}) {
    ThreadPool pool(threads);
    const State together = InitialState(program, 3, &pool);
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(std::ranges::equal(alone[i].bytes(), together[i].bytes()));
  }
  const State other_seed = InitialState(program, 4);
  EXPECT_FALSE(std::ranges::equal(alone[0].bytes(), other_seed[0].bytes()));
}

}  // namespace
}  // namespace assay::testkit
