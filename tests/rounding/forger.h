// Forger: a trainer that takes one value of one step otherwise than its machine computed it, trains on with it, and commits to a rounding log that says so, or is
// silent. Everything else about its run is honest. Not synchronised.
#pragma once

#include <functional>
#include <optional>

#include "assay/exec/step_nodes.h"
#include "assay/numerics/grid.h"
#include "bench.h"
#include "cheat.h"

namespace assay::roundtest {

// An element of a step's rounded results.
struct Place {
  std::size_t node = 0;
  std::size_t output = 0;
  std::int64_t element = 0;
  double y = 0, e = 0;  // as computed, and its bound
};

// Where y lies: its distance from the nearest boundary of the grid in units of D, and the value on the other side of that boundary.
struct Closeness {
  double distance = 0;
  float other = 0;
  bool up = false;  // the other value is the greater one
};
Closeness ClosenessOf(const numerics::Grid& grid, double y, double e);

struct Forgery {
  // Which results it looks at; empty: all.
  std::function<bool(const StepNodes& nodes, std::size_t node, std::size_t output)> among{};
  // How little an element is to the forger's liking; not finite: not at all. It takes the one it likes best.
  std::function<double(const numerics::Grid& grid, double y, double e)> liking{};
  std::function<float(const numerics::Grid& grid, double y, double e)> value{};
  // What its log says there, but for the position; none: nothing.
  std::function<std::optional<rounding::Decision>(const numerics::Grid& grid, double y, double e)> decision{};
};

class Forger {
 public:
  // It forges step `at`, counted from 1. `follow`: a run whose rounding logs it follows, and leaves as they are. All must outlive it.
  Forger(const PreparedJob& prepared, Machine& machine, std::int64_t at, Forgery forgery, const RunDirectory* follow = nullptr)
      : prepared_(prepared), machine_(machine), at_(at), forgery_(std::move(forgery)), follow_(follow) {}
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  // Leaves its run in `path`.
  Status Train(const std::string& path, const SigningKey& key = KeyOf());
  attacks::Hooks hooks();
  const std::optional<Place>& place() const { return place_; }

 private:
  Result<StepOutcome> Step(Stepper& stepper, State& state, const StepPlan& plan);
  std::optional<Place> Choose(Stepper& stepper, const State& before, const StepPlan& plan);
  Status Follow(Stepper& stepper, const StepPlan& plan) const;
  std::uint64_t PositionOf(const Place& place) const;
  Result<Bytes> Forged(ByteSpan log) const;

  const PreparedJob& prepared_;
  Machine& machine_;
  std::int64_t at_;
  Forgery forgery_;
  const RunDirectory* follow_;
  std::optional<Place> place_;
};

}  // namespace assay::roundtest
