// Decisions on the host, and whether a claimed value can be true (docs/ROUNDING.md, section 4). Pure functions.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/numerics/double_double.h"
#include "assay/rounding/follow.h"

namespace assay::rounding {

// The decision taken by rounding y, if there is one.
inline std::optional<Decision> Decide(const numerics::Grid& grid, double y, double d, std::uint64_t position) {
  Decision decision;
  if (!Decide(grid, y, d, position, decision)) return std::nullopt;
  return decision;
}

// A referee's question: whether a correct evaluation of an element whose true value is x, and whose bound is e, can round to `claimed`.
bool CanRoundTo(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float claimed);

// Whether who follows a decision with an evaluation of its own, at most e from x, can come to `value`.
bool CanFollowTo(const numerics::Grid& grid, const Decision& decision, const numerics::DoubleDouble& x, double e, float value);

// Whether everybody who evaluates an element within e of x and rounds it to `value` has written a decision down: x is so near a boundary that every D covers
// it, or the boundary lies between x and the value. Of a bound that is infinite or not a number D covers everything.
bool MustDecide(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float value);

}  // namespace assay::rounding
