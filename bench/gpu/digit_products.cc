// Products by digits against cuBLAS in FP32 and TF32, the making of digits included.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "machine.h"

namespace assay::bench {
namespace {

// Of one H100 or H200, in operations a second, at its boost clock.
constexpr double kInt8Peak = 1979e12;
constexpr double kGuess = 200e12;  // what a product reaches, about

constexpr int Products(int digits) { return digits == 3 ? 6 : 3; }

struct Ratios {
  double log_sum = 0;
  int count = 0;
  void Add(double ratio) {
    log_sum += std::log(ratio);
    ++count;
  }
  double mean() const { return std::exp(log_sum / std::max(count, 1)); }
};

struct Target {
  int digits;
  Peer peer;
  double all, large;  // of the geometric mean over all shapes, and over squares alone
};
constexpr std::array kTargets = {Target{3, Peer::kFp32, 4.0, 0}, Target{3, Peer::kTf32, 0, 0}, Target{2, Peer::kFp32, 6.5, 0},
                                 Target{2, Peer::kTf32, 1.0, 1.15}};

const char* Name(Peer peer) { return peer == Peer::kFp32 ? "cuBLAS FP32" : "cuBLAS TF32"; }

void PrintMean(const Target& target, const char* shapes, const Ratios& ratios, double wanted) {
  fmt::print(
      "{{\"section\": \"digits\", \"name\": \"int8x{}, geometric mean of {} {}\", \"ours\": {:.4f}, \"theirs\": 1, "
      "\"unit\": \"ratio\", \"peer\": \"{}\"{}}}\n",
      target.digits, ratios.count, shapes, ratios.mean(), Name(target.peer),
      wanted > 0 ? fmt::format(", \"target\": {}", wanted) : "");
}

std::vector<MatmulCase> Cases(bool quick) {
  std::vector<MatmulCase> cases;
  for (const std::int64_t n : {4096, 8192}) cases.push_back({fmt::format("square {}", n), n, n, n, false, false});
  const std::string gpt2 = "gpt2 8192 tokens ";
  AddLayer(cases, gpt2 + "qkv", 8192, 768, 2304, false);
  if (quick) return cases;
  AddLayer(cases, gpt2 + "proj", 8192, 768, 768, false);
  AddLayer(cases, gpt2 + "fc", 8192, 768, 3072, false);
  AddLayer(cases, gpt2 + "out", 8192, 3072, 768, false);
  AddLayer(cases, gpt2 + "head", 8192, 768, 50257, true);
  return cases;
}

}  // namespace

void DigitProducts(Machine& machine, bool quick) {
  std::array<Ratios, kTargets.size()> all, large;
  for (const MatmulCase& c : Cases(quick)) {
    const Operands operands = machine.OperandsOf(c);
    Backend& backend = machine.backend();
    const std::vector<double> seconds = machine.Race({{&backend, [&] { machine.Ours(c, operands, 3, backend); }},
                                                      {&backend, [&] { machine.Ours(c, operands, 2, backend); }},
                                                      {nullptr, [&] { machine.Cublas(c, operands, Peer::kFp32); }},
                                                      {nullptr, [&] { machine.Cublas(c, operands, Peer::kTf32); }}},
                                                     RepeatsFor(c, kGuess));
    backend.LeaveOutProducts(true);
    const std::vector<double> cutting = machine.Race({{&backend, [&] { machine.Ours(c, operands, 3, backend); }},
                                                      {&backend, [&] { machine.Ours(c, operands, 2, backend); }}},
                                                     RepeatsFor(c, kGuess));
    backend.LeaveOutProducts(false);
    for (std::size_t i = 0; i < kTargets.size(); ++i) {
      const Target& target = kTargets[i];
      const std::size_t mine = target.digits == 3 ? 0 : 1;
      const double ours = seconds[mine], theirs = seconds[target.peer == Peer::kFp32 ? 2 : 3];
      all[i].Add(theirs / ours);
      if (c.name.starts_with("square")) large[i].Add(theirs / ours);
      fmt::print(
          "{{\"section\": \"digits\", \"name\": \"int8x{} {}\", \"ours\": {:.2f}, \"theirs\": {:.2f}, \"unit\": "
          "\"TFLOP/s\", \"peer\": \"{}\", \"of_int8_peak\": {:.3f}, \"cutting\": {:.3f}}}\n",
          target.digits, c.name, 1e-12 * Flops(c) / ours, 1e-12 * Flops(c) / theirs, Name(target.peer),
          Products(target.digits) * Flops(c) / std::max(ours - cutting[mine], 0.01 * ours) / kInt8Peak, cutting[mine] / ours);
    }
    std::fflush(stdout);
  }
  for (std::size_t i = 0; i < kTargets.size(); ++i) {
    PrintMean(kTargets[i], "shapes", all[i], kTargets[i].all);
    if (kTargets[i].large > 0) PrintMean(kTargets[i], "squares", large[i], kTargets[i].large);
  }
}

}  // namespace assay::bench
