// The contract's reduction orders (docs/NUMERICS.md, section 2) as plain loops. Reference kernels use them as they stand; fast kernels
// must give the same bits. Each takes the number of elements and functions that yield element i (an std::int64_t), so callers
// never copy or transform a row first. Pure; thread safe.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "assay/numerics/scalar.h"

namespace assay::numerics {

inline constexpr std::int64_t kRowLanes = 32;
inline constexpr std::int64_t kRowPiece = 1024;
inline constexpr std::int64_t kColBlock = 64;

namespace internal {

// One piece of a row through 32 lanes and the tree that halves them; step(lane, i) is the lane after element i.
struct RowPiece {
  static constexpr std::int64_t kSize = kRowPiece;
  template <class Step>
  static float Reduce(std::int64_t begin, std::int64_t end, const Step& step) {
    std::array<float, kRowLanes> lanes{};
    for (std::int64_t i = begin; i < end; ++i) {
      float& lane = lanes[static_cast<std::size_t>((i - begin) % kRowLanes)];
      lane = step(lane, i);
    }
    for (std::size_t half = kRowLanes / 2; half >= 1; half /= 2) {
      for (std::size_t l = 0; l < half; ++l) lanes[l] = lanes[l] + lanes[l + half];
    }
    return lanes[0];
  }
};

// One block of a column: ascending order, one accumulator.
struct ColPiece {
  static constexpr std::int64_t kSize = kColBlock;
  template <class Step>
  static float Reduce(std::int64_t begin, std::int64_t end, const Step& step) {
    float total = 0;
    for (std::int64_t i = begin; i < end; ++i) total = step(total, i);
    return total;
  }
};

template <class Piece, class Step>
std::vector<float> ReducePieces(std::int64_t n, const Step& step) {
  std::vector<float> sums;
  std::int64_t begin = 0;
  do {
    sums.push_back(Piece::Reduce(begin, std::min(begin + Piece::kSize, n), step));
    begin += Piece::kSize;
  } while (begin < n);
  return sums;
}

// `step` at the first level; the sums of the pieces are added by the same order until one is left.
template <class Piece, class Step>
float Reduce(std::int64_t n, const Step& step) {
  std::vector<float> sums = ReducePieces<Piece>(n, step);
  while (sums.size() > 1) {
    const std::vector<float> level = std::exchange(sums, {});
    sums = ReducePieces<Piece>(static_cast<std::int64_t>(level.size()), [&](float total, std::int64_t i) {
      return total + level[static_cast<std::size_t>(i)];
    });
  }
  return sums[0];
}

}  // namespace internal

// rowsum: the sum of x(0) ... x(n - 1).
template <class X>
float RowSum(std::int64_t n, const X& x) {
  return internal::Reduce<internal::RowPiece>(n, [&](float lane, std::int64_t i) { return lane + x(i); });
}

// rowsumsq: the sum of x(i)^2. x is called once for each element.
template <class X>
float RowSumSquares(std::int64_t n, const X& x) {
  return internal::Reduce<internal::RowPiece>(n, [&](float lane, std::int64_t i) {
    const float value = x(i);
    return std::fma(value, value, lane);
  });
}

// rowdot: the sum of x(i) * y(i).
template <class X, class Y>
float RowDot(std::int64_t n, const X& x, const Y& y) {
  return internal::Reduce<internal::RowPiece>(n, [&](float lane, std::int64_t i) { return std::fma(x(i), y(i), lane); });
}

// colsum: the sum of x(r) over the n rows r of one column.
template <class X>
float ColSum(std::int64_t n, const X& x) {
  return internal::Reduce<internal::ColPiece>(n, [&](float total, std::int64_t i) { return total + x(i); });
}

// coldot: the sum of x(r) * y(r) over the n rows r of one column.
template <class X, class Y>
float ColDot(std::int64_t n, const X& x, const Y& y) {
  return internal::Reduce<internal::ColPiece>(n, [&](float total, std::int64_t i) { return std::fma(x(i), y(i), total); });
}

}  // namespace assay::numerics
