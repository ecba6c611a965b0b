// Products of matrices of digits on the GPU (docs/NUMERICS.md, section 7): what making digits (digitize-inl.h) and multiplying them agree on. Host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/backend/cuda/kernels.h"
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

// out[p, m, n] = digitsum of row m of a's matrix p and row n of b's, over `blocks` blocks.
struct DigitGemm {
  DigitRows a{}, b{};
  std::int64_t m = 0, n = 0;
  int batch = 1, blocks = 0;
  float* out = nullptr;
  std::int64_t stride = 0, batch_stride = 0;  // of out: from one row to the next, from one matrix to the next
  bool lacks = false;  // whether blocks of a may be missing: their scale is 0, and they add nothing, whatever b's is

  // Of the kernel for Hopper.
  int tiles_m = 0, tiles_n = 0;
  std::int64_t waves = 0;    // of tiles that thread blocks have to themselves
  float* waiting = nullptr;  // totals of tiles that two thread blocks share
  unsigned* flags = nullptr;
  bool pairs = false;  // whether pairs of columns are aligned
  __host__ __device__ std::int64_t tiles() const { return std::int64_t{tiles_m} * tiles_n * batch; }
};

// Scratch memory, cut up in the order of asking. The first pass finds out how much it is.
class Scratch {
 public:
  explicit Scratch(void* base = nullptr) : base_(static_cast<char*>(base)) {}
  template <class T>
  T* Take(std::int64_t count) {
    T* const taken = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (static_cast<std::size_t>(count) * sizeof(T) + 1023) / 1024 * 1024;
    return taken;
  }
  DigitRows TakeRows(std::int64_t matrices, std::int64_t rows, std::int64_t depth, int n);
  std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

// Takes what Multiply needs beside its operands, and enqueues the product. `digits` is 2 or 3. The kernel for Hopper where it is built and the device is one;
// elsewhere, or where the tuning says so, one for any device.
void TakeForProduct(Scratch& scratch, DigitGemm& gemm, int digits, const Context& context);
void Multiply(const DigitGemm& gemm, int digits, Context& context);

// digit_mma.cu.
void MultiplyByMma(const DigitGemm& gemm, int digits, bool bf16, Context& context);

// digit_hopper.cu.
bool RunsOnHopper();
void MultiplyOnHopper(DigitGemm gemm, int digits, Context& context);

}  // namespace assay::cuda::digits
