// The orders of reduction of docs/NUMERICS.md, section 2, as scalar code. An order depends on the number of terms alone.
//
// Terms are read through an accessor, a callable from index to float, so that a term may be computed on the fly. Pure; thread safe.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/numerics/fma.h"

namespace assay::numerics {

inline constexpr std::int64_t kRowLanes = 32;
inline constexpr std::int64_t kRowPiece = 1024;
inline constexpr std::int64_t kColumnBlock = 64;

inline float CombineLanes(std::array<float, kRowLanes> lane) {
  for (std::size_t h = kRowLanes / 2; h > 0; h /= 2) {
    for (std::size_t l = 0; l < h; ++l) lane[l] = lane[l] + lane[l + h];
  }
  return lane[0];
}

// Terms [begin, end) of a row, at most one piece of them; step(acc, i) takes term i into a lane.
template <class Step>
float RowPiece(std::int64_t begin, std::int64_t end, const Step& step) {
  std::array<float, kRowLanes> lane{};
  for (std::int64_t i = begin; i < end; ++i) {
    float& acc = lane[static_cast<std::size_t>((i - begin) % kRowLanes)];
    acc = step(acc, i);
  }
  return CombineLanes(lane);
}

// Blocks of a column: the same, one chain.
template <class Step>
float ColumnBlock(std::int64_t begin, std::int64_t end, const Step& step) {
  float acc = 0.0f;
  for (std::int64_t i = begin; i < end; ++i) acc = step(acc, i);
  return acc;
}

// The sum of the sums of all pieces, by plain additions in the same order.
inline float SumPieces(std::vector<float> sums, std::int64_t piece, float (*sum)(const float* terms, std::int64_t n)) {
  while (sums.size() > 1) {
    std::vector<float> next;
    const auto n = static_cast<std::int64_t>(sums.size());
    for (std::int64_t begin = 0; begin < n; begin += piece)
      next.push_back(sum(sums.data() + begin, std::min(piece, n - begin)));
    sums = std::move(next);
  }
  return sums.empty() ? 0.0f : sums[0];
}

template <class Step>
float RowReduce(std::int64_t n, const Step& step) {
  std::vector<float> sums;
  for (std::int64_t begin = 0; begin < n; begin += kRowPiece)
    sums.push_back(RowPiece(begin, std::min(begin + kRowPiece, n), step));
  return SumPieces(std::move(sums), kRowPiece, [](const float* terms, std::int64_t count) {
    return RowPiece(0, count, [&](float acc, std::int64_t i) { return acc + terms[i]; });
  });
}

template <class Step>
float ColumnReduce(std::int64_t n, const Step& step) {
  std::vector<float> sums;
  for (std::int64_t begin = 0; begin < n; begin += kColumnBlock) {
    sums.push_back(ColumnBlock(begin, std::min(begin + kColumnBlock, n), step));
  }
  return SumPieces(std::move(sums), kColumnBlock, [](const float* terms, std::int64_t count) {
    return ColumnBlock(0, count, [&](float acc, std::int64_t i) { return acc + terms[i]; });
  });
}

template <class X>
float RowSum(std::int64_t n, const X& x) {
  return RowReduce(n, [&](float acc, std::int64_t i) { return acc + x(i); });
}

template <class X, class Y>
float RowDot(std::int64_t n, const X& x, const Y& y) {
  return RowReduce(n, [&](float acc, std::int64_t i) { return Fma(x(i), y(i), acc); });
}

template <class X>
float RowSumSquares(std::int64_t n, const X& x) {
  return RowReduce(n, [&](float acc, std::int64_t i) {
    const float v = x(i);
    return Fma(v, v, acc);
  });
}

template <class X>
float ColSum(std::int64_t n, const X& x) {
  return ColumnReduce(n, [&](float acc, std::int64_t i) { return acc + x(i); });
}

template <class X, class Y>
float ColDot(std::int64_t n, const X& x, const Y& y) {
  return ColumnReduce(n, [&](float acc, std::int64_t i) { return Fma(x(i), y(i), acc); });
}

}  // namespace assay::numerics
