// What the benchmarks of products on a GPU share: the machine with cuBLAS as the peer, and races between recorded products.
//
// A contender's calls are recorded as a CUDA graph, several of them in a row. Contenders take turns; the median counts.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "assay/backend/cuda/cuda.h"
#include "assay/backend/cuda/gemm.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/ops/table.h"
#include "matmul_shapes.h"

namespace assay::bench {

enum class Peer : std::uint8_t { kFp32, kTf32 };  // cuBLAS in FP32, and on tensor cores

// The operands and the result of a product, on the device.
struct Operands {
  Tensor a, b, out;
};

class Machine {
 public:
  Machine();  // ends the program with status 2 where there is no GPU
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Backend& backend() { return *backend_; }
  Operands OperandsOf(const MatmulCase& c);
  // Enqueues the product once.
  void Ours(const MatmulCase& c, const Operands& operands, int digits, Backend& backend);
  void Cublas(const MatmulCase& c, const Operands& operands, Peer peer);

  // Something that is raced: `call` enqueues work on the stream of `backend`, or on cuBLAS's where that is null.
  struct Contender {
    Backend* backend;
    std::function<void()> call;
  };
  // Seconds of one call of each.
  std::vector<double> Race(const std::vector<Contender>& contenders, int repeats);

  cuda::gemm::Choice ChoiceFor(const MatmulCase& c, const cuda::Tuning& tuning = {}) const;

 private:
  std::unique_ptr<Backend> backend_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
};

double Now();
double Flops(const MatmulCase& c);
// So many products of the case that a machine of `flops` per second is busy for a few milliseconds.
int RepeatsFor(const MatmulCase& c, double flops);

// Products by digits against cuBLAS, one JSON record a line (digit_products.cc).
void DigitProducts(Machine& machine, bool quick);

}  // namespace assay::bench
