// The digits of attention (docs/NUMERICS.md, section 7): rows over the width, each a block, and sums of rows with weights that are a block. Pure; not
// thread safe where it keeps rows.
#pragma once

#include <span>

#include "assay/semantics/ref/digits.h"

namespace assay::ref {

inline DigitLine RowLine(const float* x, std::int64_t width, int digits) {
  DigitLine line(digits);
  line.Append(width, [&](std::int64_t d) { return x[d]; });
  return line;
}

// The product of two rows.
inline float DigitDot(const DigitLine& a, const DigitLine& b) {
  const OrderSums sums = Multiply(a, 0, b, 0, static_cast<std::int64_t>(a.places[0].size()));
  return numerics::DigitBlockSum(sums.Joined(a.digits), a.scales[0], b.scales[0]);
}

// Rows of a tensor, cut when they are first asked for.
class DigitRows {
 public:
  DigitRows(const float* tensor, std::int64_t width, int digits) : tensor_(tensor), width_(width), digits_(digits) {}

  // The row that starts at this element.
  const DigitLine& At(std::int64_t begin) {
    return lines_.At(begin, [&] { return RowLine(tensor_ + begin, width_, digits_); });
  }

 private:
  const float* tensor_;
  std::int64_t width_;
  int digits_;
  DigitLines lines_;
};

// What a block of weights adds, in one column, to the order sums: of weight k with the row of number k.
class WeightedRows {
 public:
  explicit WeightedRows(std::span<const float> weights, int digits) : weights_(digits) {
    weights_.Append(static_cast<std::int64_t>(weights.size()),
                    [&](std::int64_t k) { return weights[static_cast<std::size_t>(k)]; });
  }
  void Add(const DigitLine& row) { rows_.push_back(&row); }

  // The total in column d after these rows.
  float After(std::int64_t d, float total) const {
    OrderSums sums;
    for (std::size_t k = 0; k < rows_.size(); ++k) {
      const OrderSums one = Multiply(weights_, static_cast<std::int64_t>(k), *rows_[k], d, 1);
      sums.upper += one.upper;
      sums.lower += one.lower;
    }
    return numerics::Fma(sums.Joined(weights_.digits), weights_.scales[0], total);
  }

 private:
  DigitLine weights_;
  std::vector<const DigitLine*> rows_;
};

}  // namespace assay::ref
