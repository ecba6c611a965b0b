#include "oracle/oracle.h"

namespace assay::oracle {
namespace {

struct Rows {
  std::int64_t rows, columns;
  explicit Rows(const Shape& shape) : rows(shape.Product(0, shape.rank() - 1)), columns(shape.Back(0)) {}
  std::size_t At(std::int64_t r, std::int64_t k) const { return Index(r * columns + k); }
};

}  // namespace

Arrays Oracle_layernorm(const Call& c) {
  const Rows v(c.shape(0));
  const auto n = static_cast<double>(v.columns);
  Array y = c.Zeros(0), means, rstds;
  for (std::int64_t r = 0; r < v.rows; ++r) {
    double mean = 0, var = 0;
    for (std::int64_t k = 0; k < v.columns; ++k) mean += c[0][v.At(r, k)] / n;
    for (std::int64_t k = 0; k < v.columns; ++k) var += (c[0][v.At(r, k)] - mean) * (c[0][v.At(r, k)] - mean) / n;
    const double rstd = 1 / std::sqrt(var + c.Float(0));
    for (std::int64_t k = 0; k < v.columns; ++k) {
      y[v.At(r, k)] = (c[0][v.At(r, k)] - mean) * rstd * c[1][Index(k)] + c[2][Index(k)];
    }
    means.push_back(mean);
    rstds.push_back(rstd);
  }
  return {y, means, rstds};
}

// (x, gamma, mean, rstd, dy)
Arrays Oracle_layernorm_grad_x(const Call& c) {
  const Rows v(c.shape(0));
  const auto n = static_cast<double>(v.columns);
  Array dx = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    const double mean = c[2][Index(r)], rstd = c[3][Index(r)];
    double a = 0, b = 0;
    for (std::int64_t k = 0; k < v.columns; ++k) {
      const double g = c[4][v.At(r, k)] * c[1][Index(k)];
      a += g / n;
      b += g * (c[0][v.At(r, k)] - mean) * rstd / n;
    }
    for (std::int64_t k = 0; k < v.columns; ++k) {
      const double h = (c[0][v.At(r, k)] - mean) * rstd;
      dx[v.At(r, k)] = rstd * (c[4][v.At(r, k)] * c[1][Index(k)] - a - h * b);
    }
  }
  return {dx};
}

// (x, mean, rstd, dy)
Arrays Oracle_layernorm_grad_params(const Call& c) {
  const Rows v(c.shape(0));
  Array dgamma = c.Zeros(0), dbeta = c.Zeros(1);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    for (std::int64_t k = 0; k < v.columns; ++k) {
      dgamma[Index(k)] += c[3][v.At(r, k)] * (c[0][v.At(r, k)] - c[1][Index(r)]) * c[2][Index(r)];
      dbeta[Index(k)] += c[3][v.At(r, k)];
    }
  }
  return {dgamma, dbeta};
}

Arrays Oracle_rmsnorm(const Call& c) {
  const Rows v(c.shape(0));
  Array y = c.Zeros(0), rstds;
  for (std::int64_t r = 0; r < v.rows; ++r) {
    double mean_square = 0;
    for (std::int64_t k = 0; k < v.columns; ++k)
      mean_square += c[0][v.At(r, k)] * c[0][v.At(r, k)] / static_cast<double>(v.columns);
    rstds.push_back(1 / std::sqrt(mean_square + c.Float(0)));
    for (std::int64_t k = 0; k < v.columns; ++k) y[v.At(r, k)] = c[0][v.At(r, k)] * rstds.back() * c[1][Index(k)];
  }
  return {y, rstds};
}

// (x, gamma, rstd, dy)
Arrays Oracle_rmsnorm_grad_x(const Call& c) {
  const Rows v(c.shape(0));
  Array dx = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    const double rstd = c[2][Index(r)];
    double b = 0;
    for (std::int64_t k = 0; k < v.columns; ++k) {
      b += c[3][v.At(r, k)] * c[1][Index(k)] * c[0][v.At(r, k)] * rstd / static_cast<double>(v.columns);
    }
    for (std::int64_t k = 0; k < v.columns; ++k) {
      dx[v.At(r, k)] = rstd * (c[3][v.At(r, k)] * c[1][Index(k)] - c[0][v.At(r, k)] * rstd * b);
    }
  }
  return {dx};
}

// (x, rstd, dy)
Arrays Oracle_rmsnorm_grad_gamma(const Call& c) {
  const Rows v(c.shape(0));
  Array dgamma = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    for (std::int64_t k = 0; k < v.columns; ++k) dgamma[Index(k)] += c[2][v.At(r, k)] * c[0][v.At(r, k)] * c[1][Index(r)];
  }
  return {dgamma};
}

Arrays Oracle_batchnorm_train(const Call& c) {
  const Rows v(c.shape(0));
  const auto n = static_cast<double>(v.rows);
  Array y = c.Zeros(0), means, vars, rstds;
  for (std::int64_t k = 0; k < v.columns; ++k) {
    double mean = 0, var = 0;
    for (std::int64_t r = 0; r < v.rows; ++r) mean += c[0][v.At(r, k)] / n;
    for (std::int64_t r = 0; r < v.rows; ++r) var += (c[0][v.At(r, k)] - mean) * (c[0][v.At(r, k)] - mean) / n;
    const double rstd = 1 / std::sqrt(var + c.Float(0));
    for (std::int64_t r = 0; r < v.rows; ++r) {
      y[v.At(r, k)] = (c[0][v.At(r, k)] - mean) * rstd * c[1][Index(k)] + c[2][Index(k)];
    }
    means.push_back(mean);
    vars.push_back(var);
    rstds.push_back(rstd);
  }
  return {y, means, vars, rstds};
}

// (x, gamma, beta, mean, var)
Arrays Oracle_batchnorm_infer(const Call& c) {
  const Rows v(c.shape(0));
  Array y = c.Zeros(0);
  for (std::int64_t r = 0; r < v.rows; ++r) {
    for (std::int64_t k = 0; k < v.columns; ++k) {
      const double rstd = 1 / std::sqrt(c[4][Index(k)] + c.Float(0));
      y[v.At(r, k)] = (c[0][v.At(r, k)] - c[3][Index(k)]) * rstd * c[1][Index(k)] + c[2][Index(k)];
    }
  }
  return {y};
}

// (x, gamma, mean, rstd, dy)
Arrays Oracle_batchnorm_grad(const Call& c) {
  const Rows v(c.shape(0));
  const auto n = static_cast<double>(v.rows);
  Array dx = c.Zeros(0), dgamma = c.Zeros(1), dbeta = c.Zeros(2);
  for (std::int64_t k = 0; k < v.columns; ++k) {
    const double mean = c[2][Index(k)], rstd = c[3][Index(k)];
    for (std::int64_t r = 0; r < v.rows; ++r) {
      dgamma[Index(k)] += c[4][v.At(r, k)] * (c[0][v.At(r, k)] - mean) * rstd;
      dbeta[Index(k)] += c[4][v.At(r, k)];
    }
    for (std::int64_t r = 0; r < v.rows; ++r) {
      const double h = (c[0][v.At(r, k)] - mean) * rstd;
      dx[v.At(r, k)] = c[1][Index(k)] * rstd * (c[4][v.At(r, k)] - dbeta[Index(k)] / n - h * dgamma[Index(k)] / n);
    }
  }
  return {dx, dgamma, dbeta};
}

}  // namespace assay::oracle
