// Contractions by cuBLAS: every matmul and convolution as products of matrices of doubles in scratch memory.
//
// K is cut into blocks of numerics::ContractionBlock(K), which are products of their own, side by side in one call; their sums are added one after the other where the element is rounded. That
// is what the bound of docs/ROUNDING.md, section 3, rests on. In FP32 (fp32-vendor) K is not cut and nothing is bounded.
#pragma once

#include <cstdint>

#include "assay/backend/cublas/kernels.h"

namespace assay::cublas {

// Lines of K values each, in device memory: value k of line l is base[l * step + k] if k_adjacent, base[k * step + l] otherwise.
template <class T>
struct Lines {
  const T* base = nullptr;
  std::int64_t step = 0;
  bool k_adjacent = true;
  std::int64_t batch = 0;  // from a product of a batch to the next
};

// Element (i, j) of product p is the sum over k of line i of a times line j of b, and is element p * m * n + i * row_stride + j, or rows[i] + j, behind `origin` of the output.
struct Products {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t origin = 0, row_stride = 0;
  const std::int64_t* rows = nullptr;  // on the device; batch is 1 then
  // Of the lines of a and b, [batch][line], where they are known already.
  const double *norms_a = nullptr, *norms_b = nullptr;
};

// Scratch that RunProducts needs for itself.
template <class T>
std::size_t ScratchOfProducts(const Products& products, bool bounded);

// `scratch` is that much device memory.
template <class T>
void RunProducts(const Products& products, const Lines<T>& a, const Lines<T>& b, const Sink& sink, void* scratch,
                 Context& context);

// `count` lines of k places each, as they lie in memory without gaps between lines or places, become doubles, unless `to` is null; their norms are taken on the way. `squares` is room for ScratchOfNorms doubles.
struct DenseLines {
  const float* from = nullptr;
  std::int64_t batch = 1, count = 0, k = 0;
  bool k_adjacent = true;
};
void WidenWithNorms(const DenseLines& lines, double* to, double* squares, double* norms, cudaStream_t stream);
constexpr std::int64_t ScratchOfNorms(std::int64_t batch, std::int64_t count) { return 256 * 32 + batch * count; }

// to[i] = from[i]
void Widen(const float* from, std::int64_t n, double* to, cudaStream_t stream);

}  // namespace assay::cublas
