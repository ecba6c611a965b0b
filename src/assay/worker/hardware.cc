#include "assay/worker/hardware.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>

#include "assay/exec/executor.h"
#include "assay/graph/graph.h"
#include "assay/ops/builder.h"
#include "assay/worker/usage.h"

namespace assay::worker {
namespace {

constexpr std::int64_t kWidth = 512;                     // of the matrices
constexpr std::int64_t kHashed = std::int64_t{8} << 20;  // bytes
constexpr double kLongEnough = 0.05;                     // seconds for each measurement
constexpr double kGiga = 1e9;

// The best of several calls, and at least two of them: the first warms up.
template <class Work>
double BestSeconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double best = 0, total = 0;
  work();
  while (total < kLongEnough) {
    const auto begin = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = best == 0 ? seconds : std::min(best, seconds);
    total += seconds;
  }
  return best;
}

double Rounded(double value) {
  constexpr double kTenths = 10;
  return std::round(value * kTenths) / kTenths;
}

double MatmulGflops(Backend& backend) {
  GraphBuilder builder(Ops());
  OpBuilder ops(builder);
  const TensorType type{DType::kF32, Shape{kWidth, kWidth}};
  const ValueId a = builder.Input("a", type);
  const ValueId b = builder.Input("b", type);
  builder.Output("c", ops.Matmul(a, b));
  const Graph graph = std::move(builder).Finish();
  Tensor x(type), y(type), z(type);
  for (Tensor* tensor : {&x, &y}) {
    float* values = static_cast<float*>(tensor->data());
    for (std::int64_t i = 0; i < kWidth * kWidth; ++i) values[i] = static_cast<float>(i % 7) - 3.0f;
  }
  const Tensor left = x.CopyTo(backend.memory()), right = y.CopyTo(backend.memory());
  Tensor product(type, backend.memory());
  Executor executor(graph, backend, {});
  const void* inputs[] = {left.data(), right.data()};
  void* outputs[] = {product.data()};
  const double seconds = BestSeconds([&] {
    executor.Run(inputs, outputs);
    backend.Wait();
  });
  return 2.0 * static_cast<double>(kWidth * kWidth * kWidth) / seconds / kGiga;
}

double HashGbps(Backend& backend) {
  const TensorType type{DType::kF32, Shape{kHashed / 4}};
  const Tensor tensor = Tensor(type).CopyTo(backend.memory());
  const ByteSpan span(static_cast<const std::uint8_t*>(tensor.data()), static_cast<std::size_t>(kHashed));
  const double seconds = BestSeconds([&] { backend.TensorRoots(std::span(&span, 1)); });
  return static_cast<double>(kHashed) / seconds / kGiga;
}

}  // namespace

std::string ProcessorName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

void Measure(const Compute& compute, Hardware& hardware) {
  hardware.threads = compute.pool->threads();
  hardware.cores = Cores();
  hardware.kernels = compute.backend->name();
  hardware.matmul_gflops = Rounded(MatmulGflops(*compute.backend));
  hardware.hash_gbps = Rounded(HashGbps(*compute.backend));
}

}  // namespace assay::worker
