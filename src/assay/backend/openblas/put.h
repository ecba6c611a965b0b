// Values of the number types of formula.h on their way to an output. Pure but for the output; thread safe for disjoint elements.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "assay/backend/openblas/output.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::rounded {

// Elements that are computed before they are rounded; values and bounds stay in the second-level cache.
inline constexpr std::int64_t kPutBlock = 2048;

// Elements [at, at + n), where no bounds are wanted. Uses `values` as scratch.
inline void PutAll(const Output& output, double* values, std::int64_t n, std::int64_t at) {
  output.Put(values, nullptr, n, at);
}

inline void PutAll(const Output& output, const Near* values, std::int64_t n, std::int64_t at) {
  std::array<double, kPutBlock> y, e;
  for (std::int64_t begin = 0; begin < n; begin += kPutBlock) {
    const std::int64_t count = std::min(kPutBlock, n - begin);
    for (std::int64_t i = 0; i < count; ++i) {
      y[static_cast<std::size_t>(i)] = values[begin + i].v;
      e[static_cast<std::size_t>(i)] = values[begin + i].e;
    }
    const bool wanted = output.WantsBounds(at + begin, at + begin + count);
    output.Put(y.data(), wanted ? e.data() : nullptr, count, at + begin);
  }
}

}  // namespace assay::rounded
