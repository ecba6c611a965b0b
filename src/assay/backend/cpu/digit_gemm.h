// Contractions with digits on the CPU (docs/NUMERICS.md, section 7): what they are made of, and which units of a processor compute them.
//
// Sums of products of digits are exact, so a unit may add them in any order and all give the same bytes. A unit is chosen at run time,
// because a processor's instruction set for floats does not say what it has for 8-bit integers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/backend/cpu/cpu.h"

namespace assay::cpu {

class Context;

// One operand of a product: lines (rows of the left operand, columns of the right one) of k values each. Element k of line i is
// data[i * stride + k], or data[k * stride + i] where lines are adjacent.
struct DigitSide {
  const float* data = nullptr;
  std::int64_t stride = 0;
  bool adjacent = false;
};

// c[i, j] = digitsum of line i of a and line j of b, cut into blocks of 256.
struct DigitContraction {
  std::int64_t m = 0, n = 0, k = 0;
  int digits = 0;  // 2 or 3
  DigitSide a, b;
  float* c = nullptr;
  std::int64_t c_stride = 0;  // between rows of c
};

// Computes the contraction on the context's instruction set and unit.
void DigitGemm(const DigitContraction& task, Simd simd, Context& context);

}  // namespace assay::cpu
