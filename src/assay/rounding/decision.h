// How decisions come about, and whether a claimed value can be true (docs/ROUNDING.md, section 4). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/numerics/double_double.h"
#include "assay/rounding/follow.h"

namespace assay::rounding {

// The widest modulus; what is open by more is written as the value itself.
inline constexpr int kMaxModulus = 12;

// The decision taken by rounding y, if within D of it there is more than one value. None where y is not finite.
std::optional<Decision> Decide(const numerics::Grid& grid, double y, double d, std::uint64_t position);

// A referee's question: whether a correct evaluation of an element whose true value is x, and whose bound is e, can round to `claimed`.
bool CanRoundTo(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float claimed);

}  // namespace assay::rounding
