// The FP64 oracle: every op of the table once more, written from the textbook formula with naive loops in double and the standard
// library's functions, sharing nothing with the kernels. It tells whether an op computes the right thing; which bits it gives is the
// conformance suite's business. Pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/graph/op_def.h"
#include "assay/tensor/tensor.h"

namespace assay::oracle {

// Elements in row-major order; integers are held exactly.
using Array = std::vector<double>;
using Arrays = std::vector<Array>;

// What an op sees.
struct Call {
  const OpInstance& op;
  const Arrays& in;

  const Array& operator[](std::size_t k) const { return in[k]; }
  const Shape& shape(std::size_t k) const { return op.in[k].shape; }
  const Shape& out_shape(std::size_t k) const { return op.out[k].shape; }
  std::int64_t Int(std::size_t k) const { return op.attrs.Int(k); }
  double Float(std::size_t k) const { return static_cast<double>(op.attrs.Float(k)); }
  Array Zeros(std::size_t output) const { return Array(static_cast<std::size_t>(op.out[output].elements()), 0.0); }
};

// All outputs of the op.
Arrays Forward(const OpInstance& op, const Arrays& in);

Array ToArray(const Tensor& tensor);

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline std::size_t Index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Whether dropout keeps element i, from the op's rng input.
bool Keeps(const Array& rng, double p, std::int64_t stream, std::int64_t i);

// One function per op, each in the file of its family; a missing one does not link.
#define ASSAY_OP(name, wire_id, version, kind, results) Arrays Oracle_##name(const Call& c);
#include "assay/ops/op_table.inc"
#undef ASSAY_OP

}  // namespace assay::oracle
