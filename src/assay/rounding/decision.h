// Decisions: what a rounding near a boundary was decided to be, and whether somebody else's decision can be true (docs/ROUNDING.md, section 4). Value types; pure functions.
//
// Zeros of different sign are different values here, the negative one the lesser.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/numerics/double_double.h"
#include "assay/numerics/grid.h"

namespace assay::rounding {

// The widest modulus; what is open by more is written as the value itself.
inline constexpr int kMaxModulus = 12;

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

// D of an element whose value is at most e from the truth: how far two correct evaluations can be apart. Infinite where e is not a number.
double Reach(double e);

// The least and the greatest value that evaluations within `reach` of y can round to.
struct Choice {
  float lo = 0;
  float hi = 0;
  bool open() const;              // whether they differ
  bool holds(float value) const;  // lo <= value <= hi
};
Choice ChoiceAt(const numerics::Grid& grid, double y, double reach);

// The decision taken by rounding y, if within D of it there is more than one value. None where y is not finite.
std::optional<Decision> Decide(const numerics::Grid& grid, double y, double d, std::uint64_t position);

struct Followed {
  float value = 0;          // what the decision says here
  bool admissible = false;  // whether a correct evaluation within D of y can have decided so
  bool corrected = false;   // whether it is another value than y rounds to
};
Followed Follow(const numerics::Grid& grid, const Decision& decision, double y, double d);

// A referee's question: whether a correct evaluation of an element whose true value is x, and whose bound is e, can round to `claimed`.
bool CanRoundTo(const numerics::Grid& grid, const numerics::DoubleDouble& x, double e, float claimed);

}  // namespace assay::rounding
