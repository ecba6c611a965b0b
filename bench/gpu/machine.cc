#include "machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "assay/base/check.h"
#include "assay/base/philox.h"
#include "assay/ops/digits.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::bench {
namespace {

constexpr int kTurns = 7;
constexpr double kSecondsInARow = 4e-3;

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Shape ShapeOfA(const MatmulCase& c) { return c.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k}; }
Shape ShapeOfB(const MatmulCase& c) { return c.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n}; }
Attrs AttrsOf(const MatmulCase& c, int digits) {
  return ops::WithDigits({std::int64_t{c.transpose_a}, std::int64_t{c.transpose_b}}, digits);
}

Tensor Random(Shape shape, std::uint32_t seed, Backend& backend) {
  Tensor tensor(DType::kF32, shape);
  const std::span<float> values = tensor.Span<float>();
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const PhiloxBlock draws = Philox({seed, 0}, {static_cast<std::uint32_t>(i / 4), 0, 0, 0});
    for (std::size_t k = 0; k < std::min<std::size_t>(4, values.size() - i); ++k) {
      values[i + k] = static_cast<float>(static_cast<std::int32_t>(draws[k])) * 0x1p-31f;
    }
  }
  return tensor.CopyTo(backend.memory());
}

// Calls in a row, recorded on a stream of our own.
class Recorded {
 public:
  Recorded(cudaStream_t stream, int repeats, const std::function<void()>& call) : stream_(stream) {
    cuda::Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording cuBLAS");
    for (int i = 0; i < repeats; ++i) call();
    cudaGraph_t graph = nullptr;
    cuda::Check(cudaStreamEndCapture(stream, &graph), "recording cuBLAS");
    cuda::Check(cudaGraphInstantiate(&executable_, graph, 0), "recording cuBLAS");
    static_cast<void>(cudaGraphDestroy(graph));
  }
  ~Recorded() { static_cast<void>(cudaGraphExecDestroy(executable_)); }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  void Run() const {
    cuda::Check(cudaGraphLaunch(executable_, stream_), "running cuBLAS");
    cuda::Check(cudaStreamSynchronize(stream_), "running cuBLAS");
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double Flops(const MatmulCase& c) {
  return 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
}

int RepeatsFor(const MatmulCase& c, double flops) {
  return std::clamp(static_cast<int>(kSecondsInARow * flops / Flops(c)), 1, 50);
}

Machine::Machine() {
  auto made = cuda::MakeCudaBackend();
  if (!made) {
    fmt::print(stderr, "gpu_bench: {}\n", made.error().message);
    std::exit(2);
  }
  backend_ = std::move(*made);
  cuda::Check(cudaStreamCreate(&stream_), "creating a stream");
  ASSAY_CHECK(cublasCreate(&cublas_) == CUBLAS_STATUS_SUCCESS);
  ASSAY_CHECK(cublasSetStream(cublas_, stream_) == CUBLAS_STATUS_SUCCESS);
}

Operands Machine::OperandsOf(const MatmulCase& c) {
  return {Random(ShapeOfA(c), 1, *backend_), Random(ShapeOfB(c), 2, *backend_),
          Tensor(TensorType{DType::kF32, {c.m, c.n}}, backend_->memory())};
}

void Machine::Ours(const MatmulCase& c, const Operands& operands, int digits, Backend& backend) {
  const OpInstance op{.def = &Ops()[op::matmul],
                      .attrs = AttrsOf(c, digits),
                      .in = {operands.a.type(), operands.b.type()},
                      .out = {operands.out.type()}};
  const void* in[] = {operands.a.data(), operands.b.data()};
  void* out[] = {const_cast<void*>(static_cast<const void*>(operands.out.data()))};
  backend.Run({&op, in, out});
}

// Row-major C = op(A)·op(B) is column-major Cᵀ = op(B)ᵀ·op(A)ᵀ.
void Machine::Cublas(const MatmulCase& c, const Operands& operands, Peer peer) {
  const float one = 1, zero = 0;
  const auto m = static_cast<int>(c.m), n = static_cast<int>(c.n), k = static_cast<int>(c.k);
  const cublasComputeType_t compute = peer == Peer::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_PEDANTIC;
  const cublasStatus_t status = cublasGemmEx(
      cublas_, c.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, c.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one,
      operands.b.data(), CUDA_R_32F, c.transpose_b ? k : n, operands.a.data(), CUDA_R_32F, c.transpose_a ? m : k, &zero,
      const_cast<void*>(static_cast<const void*>(operands.out.data())), CUDA_R_32F, n, compute, CUBLAS_GEMM_DEFAULT);
  ASSAY_CHECK(status == CUBLAS_STATUS_SUCCESS);
}

std::vector<double> Machine::Race(const std::vector<Contender>& contenders, int repeats) {
  std::vector<std::function<void()>> turns;  // each runs all of its calls to their end
  std::vector<std::unique_ptr<Recording>> ours;
  std::vector<std::unique_ptr<Recorded>> theirs;
  for (const Contender& contender : contenders) {
    contender.call();  // for the memory that it takes
    if (contender.backend == nullptr) {
      theirs.push_back(std::make_unique<Recorded>(stream_, repeats, contender.call));
      turns.push_back([recorded = theirs.back().get()] { recorded->Run(); });
      continue;
    }
    ours.push_back(contender.backend->Record([&] {
      for (int i = 0; i < repeats; ++i) contender.call();
    }));
    turns.push_back([recorded = ours.back().get(), backend = contender.backend] {
      recorded->Replay();
      backend->Wait();
    });
  }
  std::vector<std::vector<double>> seconds(contenders.size());
  for (int turn = 0; turn <= kTurns; ++turn) {
    for (std::size_t i = 0; i < turns.size(); ++i) {
      cuda::Check(cudaDeviceSynchronize(), "waiting");
      const double begin = Now();
      turns[i]();
      if (turn > 0) seconds[i].push_back((Now() - begin) / repeats);
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& each : seconds) medians.push_back(Median(std::move(each)));
  return medians;
}

cuda::gemm::Choice Machine::ChoiceFor(const MatmulCase& c, const cuda::Tuning& tuning) const {
  cudaDeviceProp device;
  cuda::Check(cudaGetDeviceProperties(&device, 0), "the device's properties");
  const cuda::Context context(stream_, device, tuning);
  return cuda::gemm::ChoiceFor(ops::GeometryOfMatmul(AttrsOf(c, 0), ShapeOfA(c), ShapeOfB(c)), context);
}

}  // namespace assay::bench
