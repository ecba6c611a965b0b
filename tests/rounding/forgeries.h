// What a Forger can be told to do.
#pragma once

#include <cmath>
#include <limits>

#include "forger.h"

namespace assay::roundtest {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Whether decisions about this element are narrow.
inline bool HasNarrowDecisions(const numerics::Grid& grid, double y, double e) {
  return y != 0 && 16 * rounding::Reach(e) < grid.Spacing(y) && std::fabs(y) > 0x1p-100;
}

inline rounding::Decision WideDecision(float value) { return {.position = 0, .wide = true, .up = false, .value = value}; }
inline std::optional<rounding::Decision> FlippedDecision(const numerics::Grid& grid, double y, double e) {
  return rounding::Decision{.position = 0, .wide = false, .up = ClosenessOf(grid, y, e).up, .value = 0};
}
inline float OtherValue(const numerics::Grid& grid, double y, double e) { return ClosenessOf(grid, y, e).other; }

// Results in the middle of a step. A change of one grid value may be lost on the way to the state.
inline bool Products(const StepNodes& nodes, std::size_t node, std::size_t output) {
  return output == 0 && nodes.Instance(node).def->name == "matmul";
}
// The state after the step.
inline bool Updates(const StepNodes& nodes, std::size_t node, std::size_t) {
  const std::string_view name = nodes.Instance(node).def->name;
  return name == "adamw" || name == "sgd";
}
inline Forgery Among(decltype(Forgery::among) among, Forgery forgery) {
  forgery.among = std::move(among);
  return forgery;
}

// The element nearest to a boundary of those that are more than 2D from one takes the value beyond it.
inline Forgery TieOutsideTheBound() {
  return {.liking =
              [](const numerics::Grid& grid, double y, double e) {
                const double distance = ClosenessOf(grid, y, e).distance;
                return HasNarrowDecisions(grid, y, e) && distance > 2.1 ? distance : kNever;
              },
          .value = OtherValue,
          .decision = FlippedDecision};
}

// One that is far from any, but not so far that two are equally near.
inline Forgery FarFromABoundary() {
  return {.liking =
              [](const numerics::Grid& grid, double y, double e) {
                const double distance = ClosenessOf(grid, y, e).distance * rounding::Reach(e);
                return HasNarrowDecisions(grid, y, e) ? std::fabs(distance / grid.Spacing(y) - 0.25) : kNever;
              },
          .value = OtherValue,
          .decision = FlippedDecision};
}

// The element with the widest bound takes a value four bounds and two grid values away.
inline Forgery WideOutsideTheBound() {
  const auto value = [](const numerics::Grid& grid, double y, double e) {
    return grid.Above(grid.Above(grid.Round(y + 4 * rounding::Reach(e))));
  };
  return {.liking = [](const numerics::Grid&, double y, double e) { return y == 0 ? kNever : -e / std::fabs(y); },
          .value = value,
          .decision = [value](const numerics::Grid& grid, double y, double e) -> std::optional<rounding::Decision> {
            return WideDecision(value(grid, y, e));
          }};
}

// The value is right, what is said about it is not.
inline Forgery OnlySaid(float said) {
  Forgery forgery = FarFromABoundary();
  forgery.value = [](const numerics::Grid& grid, double y, double) { return grid.Round(y); };
  forgery.decision = [said](const numerics::Grid&, double, double) -> std::optional<rounding::Decision> {
    return WideDecision(said);
  };
  return forgery;
}

// A binary32 nearer to the truth than the grid has one.
inline Forgery OffTheGrid() {
  const auto value = [](const numerics::Grid& grid, double y, double) {
    const float r = grid.Round(y);
    return std::nextafter(r, y > double{r} ? HUGE_VALF : -HUGE_VALF);
  };
  Forgery forgery = FarFromABoundary();
  forgery.value = value;
  forgery.decision = [value](const numerics::Grid& grid, double y, double e) -> std::optional<rounding::Decision> {
    return WideDecision(value(grid, y, e));
  };
  return forgery;
}

// The largest product whose distance from a boundary lies between these, in units of D = 2E, takes the value beyond it and says so. Up to a half no correct
// evaluation tells the two values apart; up to one an evaluation of a follower's own may not.
inline Forgery TakenOtherwise(double from, double to) {
  return {.among = Products,
          .liking =
              [=](const numerics::Grid& grid, double y, double e) {
                const double distance = ClosenessOf(grid, y, e).distance;
                return HasNarrowDecisions(grid, y, e) && distance >= from && distance < to ? -std::fabs(y) : kNever;
              },
          .value = OtherValue,
          .decision = FlippedDecision};
}
inline Forgery OpenTakenOtherwise() { return TakenOtherwise(0, 0.45); }

}  // namespace assay::roundtest
