#include "assay/rounding/decision.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::rounding {
namespace {

double ValueOf(const numerics::DoubleDouble& x) { return x.hi() + 0.0; }  // sums that come to nothing count as +0

// Half of D, and what x differs from its first part.
double ReachOf(const numerics::DoubleDouble& x, double e) { return Reach(e) / 2 + std::fabs(x.lo()); }

}  // namespace

bool CanRoundTo(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float claimed) {
  const double y = ValueOf(x);
  if (!IsFinite(y)) return BitsOf(grid.Round(y)) == BitsOf(claimed);
  if (BitsOf(grid.Round(double{claimed})) != BitsOf(claimed)) return false;
  return ChoiceAt(grid, y, ReachOf(x, e)).holds(claimed);
}

bool CanFollowTo(const numerics::Grid& grid, const Decision& decision, const numerics::DoubleDouble& x, double e, float value) {
  const double y = ValueOf(x), reach = ReachOf(x, e);
  if (!IsFinite(y) || value != value) return false;
  // Of all evaluations within reach, one as near as possible to where the decision means this value: if any comes to it, that one does.
  double near = double{value};
  if (!decision.wide) near = near / 2 + double{decision.up ? grid.Below(value) : grid.Above(value)} / 2;
  const double at = std::clamp(near, y - reach, y + reach);
  return BitsOf(Follow(grid, decision, IsFinite(at) ? at : y, Reach(e)).value) == BitsOf(value);
}

bool MustDecide(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float value) {
  const double y = ValueOf(x);
  if (e != e) e = std::numeric_limits<double>::infinity();  // as whoever evaluates it takes it
  if (!IsFinite(y) || !(e > 0)) return false;
  return BitsOf(grid.Round(y)) != BitsOf(value) || ChoiceAt(grid, y, std::max(0.0, e - std::fabs(x.lo()))).open();
}

}  // namespace assay::rounding
