#include "assay/monitor/speed.h"

#include <algorithm>
#include <chrono>
#include <fstream>

#include "assay/exec/executor.h"
#include "assay/monitor/usage.h"
#include "assay/ops/builder.h"

namespace assay::monitor {
namespace {

constexpr std::int64_t kHashed = std::int64_t{8} << 20;  // bytes
constexpr double kHashSeconds = 0.05;

struct Best {
  double seconds = 0;
  double cpu_seconds = 0;
};

// The best of several calls, and at least two of them: the first warms up.
template <class Work>
Best BestOf(double long_enough, const Work& work) {
  using Clock = std::chrono::steady_clock;
  Best best;
  double total = 0;
  work();
  while (total < long_enough) {
    const auto begin = Clock::now();
    const double cpu_begin = CpuSeconds();
    work();
    const double cpu_seconds = CpuSeconds() - cpu_begin;
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best.seconds = best.seconds == 0 ? seconds : std::min(best.seconds, seconds);
    best.cpu_seconds = best.cpu_seconds == 0 ? cpu_seconds : std::min(best.cpu_seconds, cpu_seconds);
    total += seconds;
  }
  return best;
}

}  // namespace

Speed MatmulSpeed(Backend& backend, std::int64_t width, double seconds) {
  if (backend.rounder() != nullptr) return {};
  GraphBuilder builder(Ops());
  OpBuilder ops(builder);
  const TensorType type{DType::kF32, Shape{width, width}};
  const ValueId a = builder.Input("a", type);
  const ValueId b = builder.Input("b", type);
  builder.Output("c", ops.Matmul(a, b));
  const Graph graph = std::move(builder).Finish();
  Tensor x(type), y(type);
  for (Tensor* tensor : {&x, &y}) {
    float* values = static_cast<float*>(tensor->data());
    for (std::int64_t i = 0; i < width * width; ++i) values[i] = static_cast<float>(i % 7) - 3.0f;
  }
  const Tensor left = x.CopyTo(backend.memory()), right = y.CopyTo(backend.memory());
  Tensor product(type, backend.memory());
  Executor executor(graph, backend, {});
  const void* inputs[] = {left.data(), right.data()};
  void* outputs[] = {product.data()};
  const Best best = BestOf(seconds, [&] {
    executor.Run(inputs, outputs);
    backend.Wait();
  });
  const double flops = 2.0 * static_cast<double>(width * width * width);
  return {.flops_per_s = best.seconds > 0 ? flops / best.seconds : 0,
          .flops_per_cpu_s = best.cpu_seconds > 0 ? flops / best.cpu_seconds : 0};
}

Speed QuickSpeed(Backend& backend, int threads) {
  constexpr double kEnough = 0.004;
  constexpr std::int64_t kTrial = 64, kDevice = 2048;
  constexpr double kSlow = 3e9;  // operations a second: kernels for which more than the trial would take too long
  if (!backend.memory().is_host()) return MatmulSpeed(backend, kDevice, kEnough);
  const Speed trial = MatmulSpeed(backend, kTrial, kEnough / 4);
  if (trial.flops_per_s < kSlow) return trial;
  const std::int64_t width = threads <= 4 ? 256 : threads <= 16 ? 512 : 1024;
  return MatmulSpeed(backend, width, kEnough);
}

double HashBytesPerSecond(Backend& backend) {
  const TensorType type{DType::kF32, Shape{kHashed / 4}};
  const Tensor tensor = Tensor(type).CopyTo(backend.memory());
  const ByteSpan span(static_cast<const std::uint8_t*>(tensor.data()), static_cast<std::size_t>(kHashed));
  const Best best = BestOf(kHashSeconds, [&] { backend.TensorRoots(std::span(&span, 1)); });
  return static_cast<double>(kHashed) / best.seconds;
}

std::string ProcessorName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double GraphFlops(const Graph& graph) {
  double flops = 0;
  for (const Node& node : graph.nodes()) {
    const OpDef& def = graph.def(node);
    if (def.cost != nullptr) flops += def.cost(graph.Instance(node)).flops;
  }
  return flops;
}

double StepFlops(const Program& program) {
  return GraphFlops(program.micro) * static_cast<double>(program.microbatches) + GraphFlops(program.update);
}

std::int64_t StateBytes(const Program& program) {
  std::int64_t bytes = 0;
  for (const StateSpec& spec : program.state) bytes += static_cast<std::int64_t>(spec.type.bytes());
  return bytes;
}

}  // namespace assay::monitor
