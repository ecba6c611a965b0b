#include "assay/rounding/decision.h"

#include <bit>
#include <cmath>
#include <limits>

namespace assay::rounding {
namespace {

constexpr double kWiden = 1 + 0x1p-10;  // what bounds leave out, and the errors of the bounds themselves

std::uint32_t BitsOf(float v) { return std::bit_cast<std::uint32_t>(v); }

// Values in their order as integers, -0 before +0.
std::int32_t Rank(float v) {
  const auto bits = static_cast<std::int32_t>(BitsOf(v));
  return bits < 0 ? ~(bits & 0x7fffffff) : bits;
}

// Whether the two are neighbours with a boundary between them that a narrow decision can mean.
bool Narrow(const numerics::Grid& grid, const Choice& choice, double d) {
  if (!std::isfinite(choice.lo) || !std::isfinite(choice.hi) || grid.Above(choice.lo) != choice.hi) return false;
  return d < (double{choice.hi} - double{choice.lo}) / 8;
}

std::int64_t PlaceOf(const numerics::Grid& grid, float v) {
  const auto magnitude = static_cast<std::int64_t>(BitsOf(v) & 0x7fffffffu) / grid.step();
  return std::signbit(v) ? -1 - magnitude : magnitude;
}

float AtPlace(const numerics::Grid& grid, std::int64_t place) {
  const std::int64_t magnitude = (place < 0 ? -1 - place : place) * grid.step();
  if (magnitude > 0x7f800000) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(static_cast<std::uint32_t>(magnitude) | (place < 0 ? 0x80000000u : 0u));
}

// The value nearest to r whose place is that of the decision.
float ByResidue(const numerics::Grid& grid, const Decision& decision, float r) {
  const std::int64_t here = PlaceOf(grid, r), modulus = std::int64_t{1} << decision.modulus;
  std::int64_t off = (std::int64_t{decision.residue} - here) & (modulus - 1);
  if (off > modulus / 2) off -= modulus;
  return AtPlace(grid, here + off);
}

// The values on both sides of the boundary nearest to a finite y; the upper may be infinite, the lower minus infinity.
Choice AroundBoundary(const numerics::Grid& grid, double y) {
  const float r = grid.Round(y);
  if (!std::isfinite(r)) return {r, r};
  const double distance = y - double{r};
  // Below a power of two the next boundary is nearer than above it.
  const float above = grid.Above(r);
  const float below = grid.Below(r);
  const bool zero_below = r == 0 && std::signbit(y);
  const bool up =
      r == 0 ? !zero_below : double{above} / 2 - double{r} / 2 - distance <= double{r} / 2 - double{below} / 2 + distance;
  return up ? Choice{r, above} : Choice{below, r};
}

}  // namespace

double Reach(double e) {
  const double d = 2 * e * kWiden;
  return d == d ? d : std::numeric_limits<double>::infinity();
}

bool Choice::open() const { return BitsOf(lo) != BitsOf(hi); }
bool Choice::holds(float value) const {
  return value == value && lo == lo && hi == hi && Rank(lo) <= Rank(value) && Rank(value) <= Rank(hi);
}

Choice ChoiceAt(const numerics::Grid& grid, double y, double reach) { return {grid.Round(y - reach), grid.Round(y + reach)}; }

std::optional<Decision> Decide(const numerics::Grid& grid, double y, double d, std::uint64_t position) {
  if (!(d > 0) || !std::isfinite(y)) return std::nullopt;
  const Choice choice = ChoiceAt(grid, y, d);
  if (!choice.open()) return std::nullopt;
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

Followed Follow(const numerics::Grid& grid, const Decision& decision, double y, double d) {
  Followed followed;
  const float here = grid.Round(y);
  if (decision.wide && decision.modulus > 0) {
    followed.value = ByResidue(grid, decision, here);
  } else if (decision.wide) {
    followed.value = decision.value;
  } else if (std::isfinite(y)) {
    const Choice around = AroundBoundary(grid, y);
    followed.value = decision.up ? around.hi : around.lo;
  } else {
    followed.value = here;
  }
  followed.corrected = BitsOf(followed.value) != BitsOf(here);
  const bool on_grid = BitsOf(grid.Round(double{followed.value})) == BitsOf(followed.value);
  followed.admissible = std::isfinite(y) && on_grid && ChoiceAt(grid, y, d).holds(followed.value);
  return followed;
}

bool CanRoundTo(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float claimed) {
  const double y = x.hi() + 0.0;  // sums that come to nothing count as +0
  if (!std::isfinite(y)) return BitsOf(grid.Round(y)) == BitsOf(claimed);
  if (BitsOf(grid.Round(double{claimed})) != BitsOf(claimed)) return false;
  // Half of D, and what x differs from its first part.
  const double reach = Reach(e) / 2 + std::fabs(x.lo());
  return ChoiceAt(grid, y, reach).holds(claimed);
}

}  // namespace assay::rounding
