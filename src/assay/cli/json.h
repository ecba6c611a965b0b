// JSON output: fields keep the order in which they were written.
#pragma once

#include <cstdint>

#include "assay/verdict/json.h"

namespace assay::cli {

using verdict::Dump;
using verdict::OrderedJson;
using verdict::ToJson;

// A count that is kept as a double because it is large: as an integer, as long as that is exact.
inline OrderedJson Whole(double count) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (!(count >= -kExact && count <= kExact)) return count;
  return static_cast<std::int64_t>(count);
}

}  // namespace assay::cli
