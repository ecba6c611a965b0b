// Products of matrices of digits on the GPU: what making digits (digitize.cu) and multiplying them (digit_gemm.cu) agree on. Host and device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "assay/numerics/digits.h"

namespace assay::cuda::digits {

inline constexpr int kBlock = 256;
inline constexpr int kTileM = 128;  // rows of a in a tile
constexpr __host__ __device__ int TileN(int n) { return n == 3 ? 128 : 192; }

// Rows of digits of one operand. Digit d of value k of row r is at digits[(d · rows + r) · depth + k]; the scale of its block at scales[k / 256 · rows + r].
// The rows of each matrix of a batch, and all of them together, are filled up with rows of anything, to a multiple of both tiles.
struct DigitRows {
  std::int8_t* digits = nullptr;
  float* scales = nullptr;
  int rows = 0;        // of all matrices
  int batch_rows = 0;  // from one matrix to the next; 0: all have the same
  int depth = 0;       // K, filled up with zeros to whole blocks
};

inline std::int64_t PaddedRows(std::int64_t rows) { return (rows + 383) / 384 * 384; }
inline std::int64_t PaddedDepth(std::int64_t k) { return (k + kBlock - 1) / kBlock * kBlock; }

struct DigitGemm {
  DigitRows a, b;
  std::int64_t m = 0, n = 0;
  int batch = 1, blocks = 0;  // of K
  int tiles_m = 0, tiles_n = 0;
  std::int64_t waves = 0;  // of tiles that thread blocks have to themselves
  float* out = nullptr;
  bool pairs = false;        // whether pairs of columns are aligned
  float* waiting = nullptr;  // totals of tiles that two thread blocks share
  unsigned* flags = nullptr;
  __host__ __device__ std::int64_t tiles() const { return std::int64_t{tiles_m} * tiles_n * batch; }
};

}  // namespace assay::cuda::digits
