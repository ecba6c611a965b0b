// Walking over a range of elements of a matrix row by row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/graph/op_def.h"

namespace assay::ref {

// Calls body(row, begin, end) for each row that elements `range` touch, with the columns [begin, end) touched in it.
template <class Body>
void ForEachRow(Range range, std::int64_t cols, Body body) {
  std::int64_t i = range.begin;
  while (i < range.end) {
    const std::int64_t row = i / cols;
    const std::int64_t end = std::min(range.end, (row + 1) * cols);
    body(row, i - row * cols, end - row * cols);
    i = end;
  }
}

}  // namespace assay::ref
