// What attention and its gradients share: heads as matrices, products in blocks, sums of rows, dropout's draws, prefix norms of keys.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "assay/backend/openblas/blas.h"
#include "assay/backend/openblas/widen.h"
#include "assay/numerics/bounded.h"
#include "assay/numerics/random.h"
#include "assay/ops/attention_geometry.h"

namespace assay::rounded {

// c = a · b (+ c), k in blocks of `block`, whose sums are added one after the other.
inline void BlockedGemm(const Blas& blas, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t block,
                        const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  for (std::int64_t k0 = 0; k0 < k; k0 += block) {
    blas.Gemm(false, transpose_b, m, n, std::min(block, k - k0), a + k0, lda, transpose_b ? b + k0 : b + k0 * ldb, ldb,
              k0 == 0 ? 0.0 : 1.0, c, ldc);
  }
}

// Rows [begin, end) of one head, widened; norms[i] is that of row begin + i. `at(i)` is where row i lies.
template <class At>
void WidenHead(const float* from, std::int64_t begin, std::int64_t end, std::int64_t d, At at, double* to, double* norms) {
  for (std::int64_t i = begin; i < end; ++i) {
    norms[i - begin] = std::sqrt(WidenRow(from + at(i), d, to + (i - begin) * d));
  }
}

// In blocks of at most 128, the sums of blocks again so.
inline double BlockSum(const double* x, std::int64_t n) {
  constexpr std::int64_t kBlock = 128;
  if (n <= kBlock) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
  std::array<double, kBlock> blocks;
  std::int64_t size = kBlock;  // of what a block sums
  while (size * kBlock < n) size *= kBlock;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; i += size) blocks[static_cast<std::size_t>(count++)] = BlockSum(x + i, std::min(size, n - i));
  return BlockSum(blocks.data(), count);
}

inline double NormOf(const double* x, std::int64_t n) {
  std::array<double, 8> lanes{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t l = 0; l < 8; ++l) lanes[l] += x[i + static_cast<std::int64_t>(l)] * x[i + static_cast<std::int64_t>(l)];
  }
  for (; i < n; ++i) lanes[0] += x[i] * x[i];
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return std::sqrt(sum);
}

// Norms of the columns of the first rows of a matrix, and the largest norm of those rows; rows are added as queries see more keys.
class PrefixNorms {
 public:
  PrefixNorms(const double* matrix, const double* row_norms, std::int64_t d, double* squares)
      : matrix_(matrix), row_norms_(row_norms), d_(d), squares_(squares) {
    std::fill_n(squares_, d_, 0.0);
  }
  void Extend(std::int64_t rows) {
    for (; rows_ < rows; ++rows_) {
      for (std::int64_t c = 0; c < d_; ++c) squares_[c] += matrix_[rows_ * d_ + c] * matrix_[rows_ * d_ + c];
      largest_ = std::max(largest_, row_norms_[rows_]);
    }
  }
  double Column(std::int64_t c) const { return std::sqrt(squares_[c]); }
  double largest() const { return largest_; }

 private:
  const double* matrix_;
  const double* row_norms_;
  std::int64_t d_, rows_ = 0;
  double* squares_;
  double largest_ = 0;
};

inline double KeepFactor(const ops::AttentionGeometry& g) { return 1.0 / (1.0 - double{g.dropout}); }

// What dropout multiplies the probabilities of keys [0, n) of one query by.
inline void KeepRow(const ops::AttentionGeometry& g, const numerics::DrawKey& key, std::int64_t first_element, std::int64_t n,
                    double* keep) {
  const std::uint32_t threshold = numerics::DropoutThreshold(g.dropout);
  const double factor = KeepFactor(g);
  for (std::int64_t j = 0; j < n;) {
    const std::int64_t element = first_element + j;
    const PhiloxBlock block = numerics::DrawBlock(key, static_cast<std::uint32_t>(element / 4));
    for (std::int64_t w = element % 4; w < 4 && j < n; ++w, ++j) {
      keep[j] = block[static_cast<std::size_t>(w)] >= threshold ? factor : 0.0;
    }
  }
}

// Whether a matrix product may meet these values in places that the formula leaves out: zero times infinity is not zero.
inline bool AllFinite(const float* x, std::int64_t n) {
  std::array<float, 8> lanes{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t l = 0; l < 8; ++l) lanes[l] += x[i + static_cast<std::int64_t>(l)] * 0.0f;
  }
  for (; i < n; ++i) lanes[0] += x[i] * 0.0f;
  return std::ranges::all_of(lanes, [](float lane) { return lane == 0.0f; });
}

}  // namespace assay::rounded
