// Simulated disputes over the toy job, of any shape.
#include <algorithm>

#include "simulation.h"
#include "toy_stage.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kMostLiars = 40;

toy::Shape SomeShape(Dice& dice) {
  const auto some = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(1 + dice.Below(dice.One(4) ? most : std::min<std::uint64_t>(most, 6)));
  };
  const std::int64_t every = some(40);
  return {.steps = every * some(16), .every = every, .nodes = static_cast<std::uint32_t>(some(40))};
}

toy::Fault SomeFault(const toy::Shape& shape, Dice& dice) {
  toy::Fault fault{static_cast<toy::Lie>(1 + dice.Below(5)), 1, 0, 1 + static_cast<std::uint32_t>(dice.Below(3))};
  const bool of_a_node = fault.lie == toy::Lie::kOutput || fault.lie == toy::Lie::kInput;
  if (of_a_node || fault.lie == toy::Lie::kResult) {
    fault.step += static_cast<std::int64_t>(dice.Below(static_cast<std::uint64_t>(shape.steps)));
  }
  if (of_a_node) fault.node = static_cast<std::uint32_t>(dice.Below(shape.nodes));
  return fault;
}

using Runs = std::vector<std::unique_ptr<const toy::Run>>;

// Runs that end an interval in the same false state, each with another story of how they came there.
void AddStories(const toy::Shape& shape, Runs& runs, Dice& dice) {
  const std::int64_t last =
      shape.every * (1 + static_cast<std::int64_t>(dice.Below(static_cast<std::uint64_t>(shape.steps / shape.every))));
  const toy::Fault end{.lie = toy::Lie::kResult, .step = last, .to = static_cast<std::uint32_t>(dice.Next())};
  runs.push_back(std::make_unique<toy::Run>(shape, std::vector<toy::Fault>{end}));
  for (std::int64_t step = last - shape.every + 1; step < last; ++step) {
    toy::Fault fault{.lie = toy::Lie::kOutput, .step = step, .node = static_cast<std::uint32_t>(dice.Below(shape.nodes))};
    runs.push_back(std::make_unique<toy::Run>(shape, std::vector<toy::Fault>{fault, end}));
  }
}

// Runs that are false in one interval, each at another step: when two of them meet, no honest run is like either, and the honest have no part in the match.
void AddRivals(const toy::Shape& shape, Runs& runs, Dice& dice) {
  const auto every = static_cast<std::uint64_t>(shape.every);
  const auto before = static_cast<std::int64_t>(every * dice.Below(static_cast<std::uint64_t>(shape.steps) / every));
  for (std::uint64_t i = 2 + dice.Below(10); i > 0; --i) {
    const toy::Fault fault{.lie = toy::Lie::kOutput,
                           .step = before + 1 + static_cast<std::int64_t>(dice.Below(every)),
                           .node = static_cast<std::uint32_t>(dice.Below(shape.nodes))};
    runs.push_back(std::make_unique<toy::Run>(shape, std::vector<toy::Fault>{fault}));
  }
}

}  // namespace

Simulated SimulateToy(std::uint64_t seed) {
  Dice dice(seed ^ 0x746f79);
  const toy::Shape shape = SomeShape(dice);
  Runs runs;
  runs.push_back(std::make_unique<toy::Run>(shape, std::vector<toy::Fault>{}));
  const bool rivals = dice.One(24);
  if (rivals) AddRivals(shape, runs, dice);
  for (std::uint64_t lies = rivals ? 0 : 1 + dice.Below(4); lies > 0; --lies) {
    std::vector<toy::Fault> faults{SomeFault(shape, dice)};
    if (dice.One(2)) faults.push_back(SomeFault(shape, dice));
    runs.push_back(std::make_unique<toy::Run>(shape, std::move(faults)));
  }
  if (dice.One(4)) AddStories(shape, runs, dice);
  const ToyStage stage(shape, std::move(runs));
  Scenario scenario{.stage = stage, .pinned = dice.One(2), .open_bouts = SomeBouts(dice)};
  scenario.second = dice.One(8);
  scenario.games = dice.One(2) ? 1 : 0;
  FillIn(scenario, kMostLiars, dice);
  return Simulate(scenario, seed);
}

}  // namespace assay::dispute
