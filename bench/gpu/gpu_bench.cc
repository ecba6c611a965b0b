// Matmul against cuBLAS in FP32, the copying of memory and the hashing of a state on a GPU, one JSON record a line as scripts/gpu_report.py
// reads them. Usage: gpu_bench [--quick | --tiles WORDS]
//
// Ours and cuBLAS's products are recorded as CUDA graphs, several of them in a row, and take turns; the median counts. --tiles takes the shapes
// whose names contain WORDS and tries every tile and several numbers of slices of K: what the constants of gemm.h are fitted to.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "assay/backend/cuda/cuda.h"
#include "assay/backend/cuda/gemm.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/base/check.h"
#include "assay/base/philox.h"
#include "assay/ops/matmul_geometry.h"
#include "assay/ops/table.h"
#include "matmul_shapes.h"

namespace assay::bench {
namespace {

constexpr int kTurns = 7;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

using Case = MatmulCase;

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const std::int64_t n : {2048, 4096, 8192}) cases.push_back({fmt::format("square {}", n), n, n, n, false, false});
  for (const std::int64_t rows : {8192, 512}) {
    const std::string gpt2 = fmt::format("gpt2 {} tokens ", rows);
    AddLayer(cases, gpt2 + "qkv", rows, 768, 2304, false);
    AddLayer(cases, gpt2 + "proj", rows, 768, 768, false);
    AddLayer(cases, gpt2 + "fc", rows, 768, 3072, false);
    AddLayer(cases, gpt2 + "out", rows, 3072, 768, false);
    AddLayer(cases, gpt2 + "head", rows, 768, 50257, true);
  }
  // The 1x1 convolutions of ResNet-50 with the CIFAR stem, batch 64.
  std::int64_t pixels = 64 * 32 * 32;
  for (std::int64_t width = 64; width <= 512; width *= 2, pixels /= 4) {
    AddLayer(cases, fmt::format("resnet50 {} pixels {} to {}", pixels, width, 4 * width), pixels, width, 4 * width, true);
    AddLayer(cases, fmt::format("resnet50 {} pixels {} to {}", pixels, 4 * width, width), pixels, 4 * width, width, true);
  }
  return cases;
}

class Machine {
 public:
  Machine() {
    auto made = cuda::MakeCudaBackend();
    if (!made) {
      fmt::print(stderr, "gpu_bench: {}\n", made.error().message);
      std::exit(2);
    }
    backend_ = std::move(*made);
    cuda::Check(cudaStreamCreate(&stream_), "creating a stream");
    ASSAY_CHECK(cublasCreate(&cublas_) == CUBLAS_STATUS_SUCCESS);
    ASSAY_CHECK(cublasSetStream(cublas_, stream_) == CUBLAS_STATUS_SUCCESS);
    ASSAY_CHECK(cublasSetMathMode(cublas_, CUBLAS_PEDANTIC_MATH) == CUBLAS_STATUS_SUCCESS);
  }

  Backend& backend() { return *backend_; }

  Tensor Random(Shape shape, std::uint32_t seed) {
    Tensor tensor(DType::kF32, shape);
    const std::span<float> values = tensor.Span<float>();
    for (std::size_t i = 0; i < values.size(); i += 4) {
      const PhiloxBlock draws = Philox({seed, 0}, {static_cast<std::uint32_t>(i / 4), 0, 0, 0});
      for (std::size_t k = 0; k < std::min<std::size_t>(4, values.size() - i); ++k) {
        values[i + k] = static_cast<float>(static_cast<std::int32_t>(draws[k])) * 0x1p-31f;
      }
    }
    return tensor.CopyTo(backend_->memory());
  }

  // Row-major C = op(A)·op(B) is column-major Cᵀ = op(B)ᵀ·op(A)ᵀ.
  void Cublas(const Case& c, const Tensor& a, const Tensor& b, Tensor& out) {
    const float one = 1, zero = 0;
    const auto m = static_cast<int>(c.m), n = static_cast<int>(c.n), k = static_cast<int>(c.k);
    const cublasStatus_t status =
        cublasSgemm(cublas_, c.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, c.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k,
                    &one, static_cast<const float*>(b.data()), c.transpose_b ? k : n, static_cast<const float*>(a.data()),
                    c.transpose_a ? m : k, &zero, static_cast<float*>(out.data()), n);
    ASSAY_CHECK(status == CUBLAS_STATUS_SUCCESS);
  }

  // Seconds of one call, of `repeats` recorded in a row on our own stream.
  class Peer {
   public:
    Peer(cudaStream_t stream, int repeats, const std::function<void()>& call) : stream_(stream) {
      cuda::Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording cuBLAS");
      for (int i = 0; i < repeats; ++i) call();
      cudaGraph_t graph = nullptr;
      cuda::Check(cudaStreamEndCapture(stream, &graph), "recording cuBLAS");
      cuda::Check(cudaGraphInstantiate(&executable_, graph, 0), "recording cuBLAS");
      static_cast<void>(cudaGraphDestroy(graph));
    }
    ~Peer() { static_cast<void>(cudaGraphExecDestroy(executable_)); }
    void Run() {
      cuda::Check(cudaGraphLaunch(executable_, stream_), "running cuBLAS");
      cuda::Check(cudaStreamSynchronize(stream_), "running cuBLAS");
    }

   private:
    cudaStream_t stream_;
    cudaGraphExec_t executable_ = nullptr;
  };

  // Seconds of one product, ours and theirs; ours by `backend`, or by the machine's own.
  std::pair<double, double> Race(const Case& c, Backend* backend = nullptr) {
    Backend& runs = backend != nullptr ? *backend : *backend_;
    const Tensor a = Random(c.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k}, 1);
    const Tensor b = Random(c.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, 2);
    Tensor out(TensorType{DType::kF32, {c.m, c.n}}, backend_->memory());
    const OpInstance op{.def = &Ops()[op::matmul],
                        .attrs = {std::int64_t{c.transpose_a}, std::int64_t{c.transpose_b}},
                        .in = {a.type(), b.type()},
                        .out = {out.type()}};
    const void* in[] = {a.data(), b.data()};
    void* outs[] = {out.data()};
    const double flops = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k);
    const int repeats = std::clamp(static_cast<int>(4e-3 * 45e12 / flops), 1, 50);
    runs.Run({&op, in, outs});
    Cublas(c, a, b, out);
    const auto ours = runs.Record([&] {
      for (int i = 0; i < repeats; ++i) runs.Run({&op, in, outs});
    });
    Peer theirs(stream_, repeats, [&] { Cublas(c, a, b, out); });
    std::vector<double> our_seconds, their_seconds;
    for (int turn = 0; turn <= kTurns; ++turn) {
      runs.Wait();
      double begin = Now();
      ours->Replay();
      runs.Wait();
      if (turn > 0) our_seconds.push_back((Now() - begin) / repeats);
      begin = Now();
      theirs.Run();
      if (turn > 0) their_seconds.push_back((Now() - begin) / repeats);
    }
    return {Median(our_seconds), Median(their_seconds)};
  }

  cuda::gemm::Choice ChoiceFor(const Case& c, const cuda::Tuning& tuning = {}) const {
    cudaDeviceProp device;
    cuda::Check(cudaGetDeviceProperties(&device, 0), "the device's properties");
    const cuda::Context context(stream_, device, tuning);
    const Attrs attrs{std::int64_t{c.transpose_a}, std::int64_t{c.transpose_b}};
    return cuda::gemm::ChoiceFor(ops::GeometryOfMatmul(attrs, c.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k},
                                                       c.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n}),
                                 context);
  }

 private:
  std::unique_ptr<Backend> backend_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
};

std::string Words(const cuda::gemm::Choice& choice) {
  const cuda::gemm::TileSpec& tile = cuda::gemm::kTiles[choice.tile];
  const std::string words = fmt::format("{}x{}, {} warps", tile.m, tile.n, tile.warps);
  if (choice.slices == 1) return words;
  const std::int64_t passes = cuda::gemm::CeilDiv(choice.slices, choice.pass_slices);
  return fmt::format("{}, K in {} slices{}", words, choice.slices, passes > 1 ? fmt::format(", {} passes", passes) : "");
}

double Flops(const Case& c) { return 2.0 * static_cast<double>(c.m) * static_cast<double>(c.n) * static_cast<double>(c.k); }

void Matmuls(Machine& machine, bool quick) {
  double log_sum = 0, least = 1e9;
  int count = 0;
  for (const Case& c : Cases()) {
    if (quick && count >= 9) break;
    const auto [ours, theirs] = machine.Race(c);
    fmt::print(
        "{{\"section\": \"matmul\", \"name\": \"{}\", \"ours\": {:.2f}, \"theirs\": {:.2f}, \"unit\": \"TFLOP/s\", \"peer\": "
        "\"cuBLAS FP32\", \"target\": 0.8, \"tile\": \"{}\"}}\n",
        c.name, 1e-12 * Flops(c) / ours, 1e-12 * Flops(c) / theirs, Words(machine.ChoiceFor(c)));
    std::fflush(stdout);
    log_sum += std::log(theirs / ours);
    least = std::min(least, theirs / ours);
    ++count;
  }
  fmt::print(
      "{{\"section\": \"matmul\", \"name\": \"geometric mean of {} shapes (least {:.3f})\", \"ours\": {:.4f}, \"theirs\": 1, "
      "\"unit\": \"ratio\", \"peer\": \"cuBLAS FP32\", \"target\": 0.95}}\n",
      count, least, std::exp(log_sum / count));
}

// Every tile and several numbers of slices for the shapes whose names contain `words`.
void Tiles(Machine& machine, const char* words) {
  for (const Case& c : Cases()) {
    if (c.name.find(words) == std::string::npos) continue;
    std::vector<std::string> tried;
    for (int tile = 0; tile <= cuda::gemm::kTileCount; ++tile) {
      for (const int slices : {0, 1, 2, 3, 4, 6, 9, 12}) {
        const cuda::Tuning tuning{.gemm_tile = tile, .gemm_split = slices};
        const std::string choice = Words(machine.ChoiceFor(c, tuning));
        if (std::ranges::find(tried, choice) != tried.end()) continue;
        tried.push_back(choice);
        const auto backend = cuda::MakeCudaBackend(tuning);
        ASSAY_CHECK(backend.has_value());
        const auto [ours, theirs] = machine.Race(c, backend->get());
        fmt::print("{} {}x{}x{}: {}: {:.2f} us, cuBLAS {:.2f} us, {:.3f}{}\n", c.name, c.m, c.n, c.k, choice, 1e6 * ours,
                   1e6 * theirs, theirs / ours, tile == 0 && slices == 0 ? " chosen" : "");
        std::fflush(stdout);
      }
    }
  }
}

// Best seconds of `work`, which the backend does when asked.
double Best(Backend& backend, const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    backend.Wait();
    const double begin = Now();
    work();
    backend.Wait();
    best = std::min(best, Now() - begin);
  }
  return best;
}

void Memory(Machine& machine, const std::string& name) {
  Backend& backend = machine.backend();
  constexpr std::int64_t kElements = std::int64_t{1} << 29;  // 2 GiB
  Tensor from(TensorType{DType::kF32, {kElements}}, backend.memory()),
      to(TensorType{DType::kF32, {kElements}}, backend.memory());
  const std::size_t bytes = from.type().bytes();
  const double copy = Best(backend, [&] { backend.memory().CopyInside(to.data(), from.data(), bytes); });
  fmt::print("{{\"section\": \"machine\", \"name\": \"{}\", \"copy_gigabytes_per_second\": {:.0f}}}\n", name,
             2e-9 * static_cast<double>(bytes) / copy);
  const ByteSpan tensor(static_cast<const std::uint8_t*>(from.data()), bytes);
  backend.TensorRoots({&tensor, 1});
  const double hash = Best(backend, [&] { backend.TensorRoots({&tensor, 1}); });
  fmt::print("{{\"section\": \"hash\", \"name\": \"Merkle root of one tensor\", \"bytes\": {}, \"ms\": {:.4f}}}\n", bytes,
             1e3 * hash);
}

int Main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const char* const tiles = argc > 2 && std::strcmp(argv[1], "--tiles") == 0 ? argv[2] : nullptr;
  const auto device = cuda::FindDevice();
  if (!device) {
    fmt::print(stderr, "gpu_bench: {}\n", device.error().message);
    return 2;
  }
  fmt::print(
      "{{\"section\": \"machine\", \"name\": \"{}\", \"capability\": \"{}.{}\", \"multiprocessors\": {}, \"memory_bytes\": "
      "{}}}\n",
      device->name, device->major, device->minor, device->multiprocessors, device->total_bytes);
  Machine machine;
  if (tiles != nullptr) {
    Tiles(machine, tiles);
    return 0;
  }
  Memory(machine, device->name);
  Matmuls(machine, quick);
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) { return assay::bench::Main(argc, argv); }
