#include "assay/rounding/decision.h"

#include <bit>
#include <cmath>

namespace assay::rounding {
namespace {

// Whether the two are neighbours with a boundary between them that a narrow decision can mean.
bool Narrow(const numerics::Grid& grid, const Choice& choice, double d) {
  if (!IsFinite(choice.lo) || !IsFinite(choice.hi) || grid.Above(choice.lo) != choice.hi) return false;
  return d < (double{choice.hi} - double{choice.lo}) / 8;
}

}  // namespace

std::optional<Decision> Decide(const numerics::Grid& grid, double y, double d, std::uint64_t position) {
  if (!IsClose(grid, y, d)) return std::nullopt;
  const Choice choice = ChoiceAt(grid, y, d);
  const float r = grid.Round(y);
  if (Narrow(grid, choice, d)) return Decision{.position = position, .wide = false, .up = r == choice.hi, .value = 0};
  Decision wide{.position = position, .wide = true, .up = false, .value = 0};
  // Whoever is within D rounds to a place at most so far away.
  const auto apart = static_cast<std::uint64_t>(PlaceOf(grid, choice.hi) - PlaceOf(grid, choice.lo));
  const int modulus = static_cast<int>(std::bit_width(2 * apart));
  if (choice.lo != choice.lo || choice.hi != choice.hi || modulus > kMaxModulus) {
    wide.value = r;
  } else {
    wide.modulus = static_cast<std::uint8_t>(modulus);
    wide.residue = static_cast<std::uint32_t>(PlaceOf(grid, r) & ((std::int64_t{1} << modulus) - 1));
  }
  return wide;
}

bool CanRoundTo(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float claimed) {
  const double y = x.hi() + 0.0;  // sums that come to nothing count as +0
  if (!IsFinite(y)) return BitsOf(grid.Round(y)) == BitsOf(claimed);
  if (BitsOf(grid.Round(double{claimed})) != BitsOf(claimed)) return false;
  // Half of D, and what x differs from its first part.
  const double reach = Reach(e) / 2 + std::fabs(x.lo());
  return ChoiceAt(grid, y, reach).holds(claimed);
}

}  // namespace assay::rounding
