#include <algorithm>

#include "oracle/oracle.h"

namespace assay::oracle {
namespace {

struct Rows {
  std::int64_t rows, columns;
  std::size_t At(std::int64_t r, std::int64_t k) const { return Index(r * columns + k); }
};

Rows Split(const Call& c) {
  const int split = static_cast<int>(c.Int(0));
  return {c.shape(0).Product(0, split), c.shape(0).Product(split, c.shape(0).rank())};
}

Rows LastAxis(const Shape& shape) { return {shape.Product(0, shape.rank() - 1), shape.Back(0)}; }

}  // namespace

Arrays Oracle_row_sum(const Call& c) {
  const Rows v = Split(c);
  Array out = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    for (std::int64_t k = 0; k < v.columns; ++k) out[Index(r)] += c[0][v.At(r, k)];
  }
  return {out};
}

Arrays Oracle_col_sum(const Call& c) {
  const Rows v = Split(c);
  Array out = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    for (std::int64_t k = 0; k < v.columns; ++k) out[Index(k)] += c[0][v.At(r, k)];
  }
  return {out};
}

Arrays Oracle_row_max(const Call& c) {
  const Rows v = Split(c);
  Array out(Index(v.rows), -std::numeric_limits<double>::infinity());
  for (std::int64_t r = 0; r < v.rows; ++r) {
    for (std::int64_t k = 0; k < v.columns; ++k) out[Index(r)] = std::max(out[Index(r)], c[0][v.At(r, k)]);
  }
  return {out};
}

Arrays Oracle_row_max_grad(const Call& c) {
  const Rows v = Split(c);
  Array out = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    for (std::int64_t k = 0; k < v.columns; ++k) {
      if (c[0][v.At(r, k)] != c[1][Index(r)]) continue;
      out[v.At(r, k)] = c[2][Index(r)];
      break;
    }
  }
  return {out};
}

Arrays Oracle_sum_squares(const Call& c) {
  double sum = 0;
  for (double x : c[0]) sum += x * x;
  return {{sum}};
}

Arrays Oracle_clip_scale(const Call& c) {
  double total = 0;
  for (const Array& square : c.in) total += square[0];
  const double norm = std::sqrt(total);
  const double limit = c.Float(0);
  return {{norm}, {limit > 0 && norm > limit ? limit / (norm + 1e-6) : 1.0}};
}

Arrays Oracle_softmax(const Call& c) {
  const Rows v = LastAxis(c.shape(0));
  Array out = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    double sum = 0;
    for (std::int64_t k = 0; k < v.columns; ++k) sum += out[v.At(r, k)] = std::exp(c[0][v.At(r, k)]);
    for (std::int64_t k = 0; k < v.columns; ++k) out[v.At(r, k)] /= sum;
  }
  return {out};
}

Arrays Oracle_softmax_grad(const Call& c) {
  const Rows v = LastAxis(c.shape(0));
  Array out = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    double dot = 0;
    for (std::int64_t k = 0; k < v.columns; ++k) dot += c[0][v.At(r, k)] * c[1][v.At(r, k)];
    for (std::int64_t k = 0; k < v.columns; ++k) out[v.At(r, k)] = c[0][v.At(r, k)] * (c[1][v.At(r, k)] - dot);
  }
  return {out};
}

Arrays Oracle_cross_entropy(const Call& c) {
  const Rows v = LastAxis(c.shape(0));
  Array loss, lse;
  for (std::int64_t r = 0; r < v.rows; ++r) {
    double sum = 0;
    for (std::int64_t k = 0; k < v.columns; ++k) sum += std::exp(c[0][v.At(r, k)]);
    lse.push_back(std::log(sum));
    const auto target = static_cast<std::int64_t>(c[1][Index(r)]);
    const bool valid = target >= 0 && target < v.columns;
    loss.push_back(target == -1 ? 0 : valid ? lse.back() - c[0][v.At(r, target)] : kNan);
  }
  return {loss, lse};
}

Arrays Oracle_cross_entropy_grad(const Call& c) {
  const Rows v = LastAxis(c.shape(0));
  Array out = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    const auto target = static_cast<std::int64_t>(c[1][Index(r)]);
    for (std::int64_t k = 0; k < v.columns; ++k) {
      const double p = std::exp(c[0][v.At(r, k)] - c[2][Index(r)]);
      double d = (p - (k == target ? 1 : 0)) * c[3][Index(r)];
      if (target == -1) d = 0;
      if (target < -1 || target >= v.columns) d = kNan;
      out[v.At(r, k)] = d;
    }
  }
  return {out};
}

}  // namespace assay::oracle
