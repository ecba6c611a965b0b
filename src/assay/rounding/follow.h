// Decisions, how they come about and how they are followed (docs/ROUNDING.md, section 4), for the host and for devices. Value types; pure functions.
//
// Zeros of different sign are different values here, the negative one the lesser.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "assay/numerics/grid.h"
#include "assay/numerics/host_device.h"

namespace assay::rounding {

struct Decision {
  std::uint64_t position = 0;  // the element's number among those of the step that have a bound
  bool wide = false;
  bool up = false;  // narrow: the value above the boundary was taken
  float value = 0;  // wide, modulus 0: the value
  // Wide: else the value's place on the grid modulo 2^modulus; places are counted from +0, -0 is place -1.
  std::uint8_t modulus = 0;
  std::uint32_t residue = 0;
  friend bool operator==(const Decision&, const Decision&) = default;
};

ASSAY_HD inline std::uint32_t BitsOf(float v) { return std::bit_cast<std::uint32_t>(v); }
ASSAY_HD inline bool IsFinite(double y) { return y - y == 0; }
ASSAY_HD inline bool IsNegative(double y) { return (std::bit_cast<std::uint64_t>(y) >> 63) != 0; }

// D of an element whose value is at most e from the truth: how far two correct evaluations can be apart. Infinite where e is not a number.
ASSAY_HD inline double Reach(double e) {
  constexpr double kWiden = 1 + 0x1p-10;  // what bounds leave out, and the errors of the bounds themselves
  const double d = 2 * e * kWiden;
  return d == d ? d : std::numeric_limits<double>::infinity();
}

// The least and the greatest value that evaluations within some distance of y can round to.
struct Choice {
  float lo = 0;
  float hi = 0;
  // Whether they differ.
  ASSAY_HD bool open() const { return BitsOf(lo) != BitsOf(hi); }
  // lo <= value <= hi
  ASSAY_HD bool holds(float value) const {
    return value == value && lo == lo && hi == hi && Rank(lo) <= Rank(value) && Rank(value) <= Rank(hi);
  }

 private:
  // Values in their order as integers, -0 before +0.
  ASSAY_HD static std::int32_t Rank(float v) {
    const auto bits = static_cast<std::int32_t>(BitsOf(v));
    return bits < 0 ? ~(bits & 0x7fffffff) : bits;
  }
};

ASSAY_HD inline Choice ChoiceAt(const numerics::Grid& grid, double y, double reach) {
  return {grid.Round(y - reach), grid.Round(y + reach)};
}

// Where a value stands on the grid.
ASSAY_HD inline std::int64_t PlaceOf(const numerics::Grid& grid, float v) {
  const auto magnitude = static_cast<std::int64_t>(BitsOf(v) & 0x7fffffffu) / grid.step();
  return IsNegative(v) ? -1 - magnitude : magnitude;
}
ASSAY_HD inline float AtPlace(const numerics::Grid& grid, std::int64_t place) {
  const std::int64_t magnitude = (place < 0 ? -1 - place : place) * grid.step();
  if (magnitude > 0x7f800000) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(static_cast<std::uint32_t>(magnitude) | (place < 0 ? 0x80000000u : 0u));
}

// The widest modulus; what is open by more is written as the value itself.
inline constexpr int kMaxModulus = 12;

namespace internal {

// Whether the two are neighbours with a boundary between them that a narrow decision can mean.
ASSAY_HD inline bool Narrow(const numerics::Grid& grid, const Choice& choice, double d) {
  if (!IsFinite(choice.lo) || !IsFinite(choice.hi) || grid.Above(choice.lo) != choice.hi) return false;
  return d < (double{choice.hi} - double{choice.lo}) / 8;
}

// The value nearest to r whose place is that of the decision.
ASSAY_HD inline float ByResidue(const numerics::Grid& grid, const Decision& decision, float r) {
  const std::int64_t here = PlaceOf(grid, r), modulus = std::int64_t{1} << decision.modulus;
  std::int64_t off = (std::int64_t{decision.residue} - here) & (modulus - 1);
  if (off > modulus / 2) off -= modulus;
  return AtPlace(grid, here + off);
}

// The values on both sides of the boundary nearest to a finite y; the upper may be infinite, the lower minus infinity.
ASSAY_HD inline Choice AroundBoundary(const numerics::Grid& grid, double y) {
  const float r = grid.Round(y);
  if (!IsFinite(r)) return {r, r};
  const double distance = y - double{r};
  // Below a power of two the next boundary is nearer than above it.
  const float above = grid.Above(r);
  const float below = grid.Below(r);
  const bool zero_below = r == 0 && IsNegative(y);
  const bool up =
      r == 0 ? !zero_below : double{above} / 2 - double{r} / 2 - distance <= double{r} / 2 - double{below} / 2 + distance;
  return up ? Choice{r, above} : Choice{below, r};
}

}  // namespace internal

// The decision taken by rounding y, if within D of it there is more than one value; false where there is not, and where y is not finite.
ASSAY_HD inline bool Decide(const numerics::Grid& grid, double y, double d, std::uint64_t position, Decision& decision) {
  if (!(d > 0) || !IsFinite(y)) return false;
  const Choice choice = ChoiceAt(grid, y, d);
  if (!choice.open()) return false;
  const float r = grid.Round(y);
  decision = {};
  decision.position = position;
  if (internal::Narrow(grid, choice, d)) {
    decision.up = r == choice.hi;
    return true;
  }
  decision.wide = true;
  // Whoever is within D rounds to a place at most so far away.
  const auto apart = static_cast<std::uint64_t>(PlaceOf(grid, choice.hi) - PlaceOf(grid, choice.lo));
  int modulus = 0;
  while (modulus <= kMaxModulus && (2 * apart) >> modulus != 0) ++modulus;
  if (choice.lo != choice.lo || choice.hi != choice.hi || modulus > kMaxModulus) {
    decision.value = r;
  } else {
    decision.modulus = static_cast<std::uint8_t>(modulus);
    decision.residue = static_cast<std::uint32_t>(PlaceOf(grid, r) & ((std::int64_t{1} << modulus) - 1));
  }
  return true;
}

struct Followed {
  float value = 0;          // what the decision says here
  bool admissible = false;  // whether a correct evaluation within D of y can have decided so
  bool corrected = false;   // whether it is another value than y rounds to
};

ASSAY_HD inline Followed Follow(const numerics::Grid& grid, const Decision& decision, double y, double d) {
  Followed followed;
  const float here = grid.Round(y);
  if (decision.wide && decision.modulus > 0) {
    followed.value = internal::ByResidue(grid, decision, here);
  } else if (decision.wide) {
    followed.value = decision.value;
  } else if (IsFinite(y)) {
    const Choice around = internal::AroundBoundary(grid, y);
    followed.value = decision.up ? around.hi : around.lo;
  } else {
    followed.value = here;
  }
  followed.corrected = BitsOf(followed.value) != BitsOf(here);
  const bool on_grid = BitsOf(grid.Round(double{followed.value})) == BitsOf(followed.value);
  followed.admissible = IsFinite(y) && on_grid && ChoiceAt(grid, y, d).holds(followed.value);
  return followed;
}

}  // namespace assay::rounding
