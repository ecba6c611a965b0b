#include "assay/rounding/decision.h"

#include <cmath>

namespace assay::rounding {
bool CanRoundTo(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float claimed) {
  const double y = x.hi() + 0.0;  // sums that come to nothing count as +0
  if (!IsFinite(y)) return BitsOf(grid.Round(y)) == BitsOf(claimed);
  if (BitsOf(grid.Round(double{claimed})) != BitsOf(claimed)) return false;
  // Half of D, and what x differs from its first part.
  const double reach = Reach(e) / 2 + std::fabs(x.lo());
  return ChoiceAt(grid, y, reach).holds(claimed);
}

}  // namespace assay::rounding
