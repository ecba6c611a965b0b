// What the formulas share: the functions of their number types, loops over elements and rows, and the list of types. Pure; thread safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/semantics/rounded/formula.h"

namespace assay::rounded {

using numerics::Contract;
using numerics::Cos;
using numerics::Erf;
using numerics::Exp;
using numerics::Log;
using numerics::Pow;
using numerics::Rsqrt;
using numerics::Sin;
using numerics::Sqrt;
using numerics::Sum;
using numerics::Tanh;

// In a file that defines Formula_NAME: for each of the number types.
#define ASSAY_FORMULA(name)                                                     \
  template void Formula_##name<double>(const KernelArgs&, int, Range, double*); \
  template void Formula_##name<Near>(const KernelArgs&, int, Range, Near*);     \
  template void Formula_##name<True>(const KernelArgs&, int, Range, True*)

// function(float) gives T.
template <class T, class Function>
void Unary(const KernelArgs& args, Range range, T* out, const Function& function) {
  const float* x = args.In<float>(0) + range.begin;
  for (std::int64_t i = 0; i < range.size(); ++i) out[i] = function(x[i]);
}

// function(float, float) gives T.
template <class T, class Function>
void Binary(const KernelArgs& args, Range range, T* out, const Function& function) {
  const float* a = args.In<float>(0) + range.begin;
  const float* b = args.In<float>(1) + range.begin;
  for (std::int64_t i = 0; i < range.size(); ++i) out[i] = function(a[i], b[i]);
}

// Calls body(row, begin, end, out) for each row that elements `range` of a matrix touch: columns [begin, end), the first of which goes to *out.
template <class T, class Body>
void ForEachRow(Range range, std::int64_t cols, T* out, Body body) {
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t row = i / cols;
    const std::int64_t end = std::min(range.end, (row + 1) * cols);
    body(row, i - row * cols, end - row * cols, out + (i - range.begin));
    i = end;
  }
}

// An extent as formulas divide by it: its binary32 value.
template <class T>
T Count(std::int64_t n) {
  return T(static_cast<float>(n));
}

}  // namespace assay::rounded
