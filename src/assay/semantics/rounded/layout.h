// Where the elements of transpose, slice, pad and concat come from, whatever they hold. Pure; thread safe.
#pragma once

#include <cstdint>
#include <functional>

#include "assay/graph/op_def.h"

namespace assay::rounded {

// Elements [to, to + length) of a range are elements from, from + step, ... of an input, or zeros.
struct MovedRun {
  static constexpr int kZeros = -1;
  std::int64_t to = 0;
  int input = kZeros;
  std::int64_t from = 0, step = 0, length = 0;
};

enum class Layout { kTranspose, kSlice, kPad, kConcat };

// The runs that make up elements `range` of the output.
void ForEachMovedRun(const OpInstance& op, Layout layout, Range range, const std::function<void(const MovedRun&)>& run);

}  // namespace assay::rounded
