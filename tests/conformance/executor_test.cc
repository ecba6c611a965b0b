// Fused, unfused, traced, in place, in its own memory, on any backend and number of threads: a run of a graph gives the bytes that the
// naive interpreter gives. Many random graphs, with and without gradients.
#include "assay/exec/executor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "assay/ops/builder.h"
#include "assay/ops/table.h"
#include "conformance/backends.h"
#include "conformance/case_run.h"
#include "conformance/plan_walk.h"
#include "support/interpret.h"
#include "support/random_graph.h"

namespace assay::testkit {
namespace {

constexpr std::uint64_t kSeeds = 30;

enum class Mode { kFused, kUnfused, kTraced, kOwnOutputs };

// Memory of one run: fresh copies of the inputs, outputs full of garbage or in the place of their input.
struct Memory {
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;

  Memory(const RandomGraph& g, bool aliased, MemorySpace& space) {
    for (const Tensor& t : g.inputs) inputs.push_back(t.CopyTo(space));
    for (const Tensor& t : inputs) in.push_back(t.data());
    for (const NamedValue& output : g.graph.outputs()) {
      Tensor garbage(g.graph.type(output.value));
      std::ranges::fill(garbage.mutable_bytes(), std::uint8_t{0xee});
      outputs.push_back(garbage.CopyTo(space));
      out.push_back(outputs.back().data());
    }
    if (!aliased) return;
    for (const auto& [output, input] : g.aliases) out[output] = inputs[input].data();
  }
  // The inputs once more, where outputs may have taken their place.
  void Refill(const RandomGraph& g) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].space().CopyIn(inputs[i].data(), g.inputs[i].data(), g.inputs[i].type().bytes());
    }
  }
};

// What lies at `got` in the backend's memory, against what should.
std::string Compare(const Tensor& want, std::size_t output, const void* got, Backend& backend) {
  Bytes bytes(want.type().bytes());
  backend.memory().CopyOut(bytes.data(), got, bytes.size());
  return DescribeDifference(want.type(), output, bytes, want.bytes());
}

// Runs the graph three times: the second run finds the memory of the first, and a device may have recorded it for the third.
std::string CheckRun(const RandomGraph& g, std::span<const Tensor> values, Backend& backend, Mode mode, bool aliased) {
  ExecOptions options;
  options.fuse = mode != Mode::kUnfused;
  options.own_outputs = mode == Mode::kOwnOutputs;
  if (aliased) options.aliases = g.aliases;
  Executor executor(g.graph, backend, options);
  Memory memory(g, aliased, backend.memory());
  for (int repeat = 0; repeat < 3; ++repeat) {
    memory.Refill(g);
    std::string error;
    if (mode == Mode::kTraced) {
      std::size_t next = 0;
      executor.RunTraced(memory.in, memory.out, [&](std::size_t node, std::span<const void* const> outputs) {
        if (node != next++ && error.empty()) error = fmt::format("node {} is out of order", node);
        for (std::size_t k = 0; k < outputs.size() && error.empty(); ++k) {
          const Tensor& want = values[g.graph.nodes()[node].first_output + k];
          error = Compare(want, k, outputs[k], backend);
        }
      });
      if (next != g.graph.nodes().size() && error.empty()) error = "not every node was traced";
    } else {
      executor.Run(memory.in, options.own_outputs ? std::span<void* const>{} : std::span<void* const>(memory.out));
    }
    if (!error.empty()) return error;
    for (std::size_t k = 0; k < memory.out.size(); ++k) {
      error = Compare(values[g.graph.outputs()[k].value], k, options.own_outputs ? executor.output(k) : memory.out[k], backend);
      if (!error.empty()) return error;
    }
    for (std::size_t i = 0; i < memory.inputs.size() && !aliased; ++i) {
      if (!Compare(g.inputs[i], i, memory.in[i], backend).empty()) return fmt::format("input {} was changed", i);
    }
  }
  return {};
}

TEST(Executor, EveryWayOfRunningARandomGraphGivesTheSameBytes) {
  const std::vector<NamedBackend> backends = AllBackends();
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const RandomGraph g = MakeRandomGraph(seed, 5 + static_cast<int>(seed % 40), seed % 2 == 1);
    const std::vector<Tensor> values = Interpret(g.graph, g.inputs);
    for (const NamedBackend& named : backends) {
      for (const Mode mode : {Mode::kFused, Mode::kUnfused, Mode::kTraced, Mode::kOwnOutputs}) {
        for (const bool aliased : {false, true}) {
          if (aliased && mode == Mode::kOwnOutputs) continue;
          ASSERT_EQ(CheckRun(g, values, *named.backend, mode, aliased), "")
              << "seed " << seed << ", " << named.name << ", mode " << static_cast<int>(mode) << (aliased ? ", aliased" : "");
        }
      }
    }
  }
}

TEST(Executor, PlansNeverPutTwoLiveValuesInOnePlace) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const RandomGraph g = MakeRandomGraph(seed, 5 + static_cast<int>(seed % 60), seed % 3 == 1);
    for (int bits = 0; bits < 16; ++bits) {
      exec::PlanOptions options;
      options.schedule.fuse = (bits & 1) != 0;
      options.schedule.alias_reshape = (bits & 2) != 0;
      options.in_place = (bits & 4) != 0;
      options.keep_all_outputs = !options.schedule.fuse;
      options.outputs_in_arena = (bits & 8) != 0;
      if (!options.outputs_in_arena) options.aliases = g.aliases;
      const exec::Plan plan = exec::MakePlan(g.graph, options);
      ASSERT_EQ(WalkPlan(g.graph, options, plan), "") << "seed " << seed << ", options " << bits;
      EXPECT_GE(plan.arena_bytes, plan.arena_lower_bound);
    }
  }
}

TEST(Executor, ElementwiseChainsBecomeOneLaunchWithoutMemory) {
  GraphBuilder b(Ops());
  OpBuilder ops(b);
  const ValueId x = b.Input("x", {DType::kF32, {64, 100}});
  const ValueId bias = b.Input("bias", {DType::kF32, {100}});
  ValueId y = ops.Binary(op::add, x, bias);
  y = ops.Unary(op::gelu_tanh, y);
  y = ops.Add(ops.Scale(y, 2.0f), ops.Reshape(ops.Reshape(y, {6400}), {64, 100}));
  b.Output("y", y);
  const Graph graph = std::move(b).Finish();
  const std::vector<NamedBackend> backends = AllBackends();
  const Executor fused(graph, *backends.front().backend, {});
  EXPECT_EQ(fused.groups(), 1u);
  EXPECT_EQ(fused.arena_bytes(), 0u);
  const Executor unfused(graph, *backends.front().backend, {.fuse = false, .aliases = {}});
  EXPECT_EQ(unfused.groups(), 5u);
}

// Outputs that are inputs, in each other's place: nothing is computed and still nothing may be lost.
TEST(Executor, SwapsAliasedInputs) {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", {DType::kF32, {3}});
  const ValueId y = b.Input("y", {DType::kF32, {3}});
  b.Output("x", y);
  b.Output("y", x);
  RandomGraph g{std::move(b).Finish(), {}, {{0, 0}, {1, 1}}};
  for (const float first : {1.0f, 2.0f}) {
    g.inputs.emplace_back(DType::kF32, Shape{3});
    g.inputs.back().Span<float>()[0] = first;
  }
  const std::vector<Tensor> values = Interpret(g.graph, g.inputs);
  for (const NamedBackend& named : AllBackends()) EXPECT_EQ(CheckRun(g, values, *named.backend, Mode::kFused, true), "");
}

// A matrix product reads all of its operand for every row of its result.
TEST(Executor, DoesNotComputeAProductOverItsOperand) {
  GraphBuilder b(Ops());
  OpBuilder ops(b);
  const ValueId x = b.Input("x", {DType::kF32, {30, 30}});
  b.Output("x", ops.Matmul(x, x));
  RandomGraph g{std::move(b).Finish(), {}, {{0, 0}}};
  g.inputs.emplace_back(DType::kF32, Shape{30, 30});
  Choices choose(2);
  for (float& v : g.inputs.back().Span<float>()) v = choose.Normal();
  const std::vector<Tensor> values = Interpret(g.graph, g.inputs);
  for (const NamedBackend& named : AllBackends()) EXPECT_EQ(CheckRun(g, values, *named.backend, Mode::kFused, true), "");
}

// The new value is wanted before the old one has been read for the last time.
TEST(Executor, KeepsAnInputThatIsReadAfterItsReplacementExists) {
  GraphBuilder b(Ops());
  OpBuilder ops(b);
  const ValueId x = b.Input("x", {DType::kF32, {40, 50}});
  const ValueId next = ops.Scale(x, 0.5f);
  const ValueId product = ops.Matmul(next, x, false, true);
  b.Output("x", next);
  b.Output("product", product);
  RandomGraph g{std::move(b).Finish(), {}, {{0, 0}}};
  g.inputs.emplace_back(DType::kF32, Shape{40, 50});
  Choices choose(1);
  for (float& v : g.inputs.back().Span<float>()) v = choose.Normal();
  const std::vector<Tensor> values = Interpret(g.graph, g.inputs);
  for (const NamedBackend& named : AllBackends()) EXPECT_EQ(CheckRun(g, values, *named.backend, Mode::kFused, true), "");
}

TEST(Executor, InPlaceUpdatesNeedNoMemory) {
  GraphBuilder b(Ops());
  OpBuilder ops(b);
  const TensorType type{DType::kF32, {300, 100}};
  const ValueId p = b.Input("p", type), g = b.Input("g", type), m = b.Input("m", type), v = b.Input("v", type);
  const ValueId lr = b.Input("lr", {DType::kF32, {}}), factor = b.Input("factor", {DType::kF32, {}}),
                step = b.Input("step", {DType::kI64, {}});
  const auto out = ops.Adam(p, g, m, v, lr, factor, step, 0.9f, 0.999f, 1e-8f, 0.1f, true);
  b.Output("p", out[0]);
  b.Output("m", out[1]);
  b.Output("v", out[2]);
  const Graph graph = std::move(b).Finish();
  for (const NamedBackend& named : AllBackends()) {
    const Executor executor(graph, *named.backend, {.fuse = true, .aliases = {{0, 0}, {1, 2}, {2, 3}}});
    EXPECT_EQ(executor.arena_bytes(), 0u) << named.name;
  }
}

}  // namespace
}  // namespace assay::testkit
