// Matmul against cuBLAS in FP32, products by digits against cuBLAS in FP32 and TF32, the copying of memory and the hashing of a state on a GPU, one JSON
// record a line as scripts/gpu_report.py reads them. Usage: gpu_bench [--quick | --digits | --tiles WORDS]
//
// --digits runs the products by digits alone. --tiles takes the shapes whose names contain WORDS and tries every tile and several numbers of slices of K:
// what the constants of gemm.h are fitted to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "assay/base/check.h"
#include "machine.h"

namespace assay::bench {
namespace {

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

std::string Words(const cuda::gemm::Choice& choice) {
  const cuda::gemm::TileSpec& tile = cuda::gemm::kTiles[choice.tile];
  const std::string words = fmt::format("{}x{}, {} warps", tile.m, tile.n, tile.warps);
  if (choice.slices == 1) return words;
  const std::int64_t passes = cuda::gemm::CeilDiv(choice.slices, choice.pass_slices);
  return fmt::format("{}, K in {} slices{}", words, choice.slices, passes > 1 ? fmt::format(", {} passes", passes) : "");
}

// Seconds of one product in FP32, ours by `backend` and cuBLAS's.
std::pair<double, double> RaceFp32(Machine& machine, const Case& c, Backend& backend) {
  const Operands operands = machine.OperandsOf(c);
  const std::vector<double> seconds = machine.Race({{&backend, [&] { machine.Ours(c, operands, 0, backend); }},
                                                    {nullptr, [&] { machine.Cublas(c, operands, Peer::kFp32); }}},
                                                   RepeatsFor(c, 45e12));
  return {seconds[0], seconds[1]};
}

void Matmuls(Machine& machine, bool quick) {
  double log_sum = 0, least = 1e9;
  int count = 0;
  for (const Case& c : Cases()) {
    if (quick && count >= 9) break;
    const auto [ours, theirs] = RaceFp32(machine, c, machine.backend());
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
        const auto [ours, theirs] = RaceFp32(machine, c, **backend);
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
  if (argc > 1 && std::strcmp(argv[1], "--digits") == 0) {
    DigitProducts(machine, false);
    return 0;
  }
  Memory(machine, device->name);
  Matmuls(machine, quick);
  DigitProducts(machine, quick);
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) { return assay::bench::Main(argc, argv); }
