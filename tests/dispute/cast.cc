// Who takes part in a simulated dispute.
#include <algorithm>
#include <map>

#include "simulation.h"

namespace assay::dispute {
namespace {

Habit SomeHabit(Dice& dice) { return dice.One(2) ? Habit::kConsistent : static_cast<Habit>(1 + dice.Below(kHabits - 1)); }

// Runs that can be told under the receipt of a false one: a crowd with one claim, of which each leads the match to another place.
std::vector<std::size_t> Alike(const Stage& stage, std::size_t run) {
  const auto law = stage.LawFor({});
  const auto group = [&](std::size_t r) { return law->group(stage.Opened(stage.ReceiptOf(r, kFirstParty))); };
  std::vector<std::size_t> alike;
  for (std::size_t other = 1; other < stage.runs(); ++other) {
    if (group(other) == group(run)) alike.push_back(other);
  }
  return alike;
}

}  // namespace

std::int64_t SomeBouts(Dice& dice) { return static_cast<std::int64_t>(1 + dice.Below(dice.One(2) ? 16 : 400)); }

void FillIn(Scenario& scenario, std::size_t most, Dice& dice) {
  const Stage& stage = scenario.stage;
  std::vector<Actor>& actors = scenario.actors;
  Key key = kFirstParty;
  const std::size_t honest = 1 + (dice.One(4) ? dice.Below(3) : 0);
  for (std::size_t i = 0; i < honest; ++i) actors.push_back({.key = key++});
  const bool crowd = dice.One(40);
  const std::size_t few = std::min<std::size_t>(most, 7);
  const std::size_t liars = 1 + dice.Below(crowd ? most : dice.One(16) ? std::clamp(stage.runs(), few, most) : few);
  const std::size_t claim = 1 + dice.Below(stage.runs() - 1);
  const std::vector<std::size_t> alike = crowd ? Alike(stage, claim) : std::vector<std::size_t>{};
  for (std::size_t i = 0; i < liars; ++i) {
    Actor actor{.key = key++, .run = dice.Below(stage.runs()), .habit = SomeHabit(dice)};
    if (crowd) {
      actor.run = claim;
      actor.habit = dice.One(8) ? SomeHabit(dice) : Habit::kConsistent;
    }
    actor.speaks = crowd ? alike[i % alike.size()] : actor.run;
    if (!crowd && dice.One(16) && actors.back().habit != Habit::kHonest)
      actor.key = actors.back().key;  // two receipts, one key
    actors.push_back(actor);
  }
  for (Actor& actor : actors)
    actor.receipt = stage.ReceiptOf(actor.run, actor.key, dice.One(8) ? static_cast<std::uint32_t>(dice.Below(3)) : 0);
  for (std::uint64_t posers = dice.One(6) ? 1 + dice.Below(3) : 0; posers > 0; --posers) {
    Actor poser = actors[dice.Below(honest)];
    poser.poses = true;
    poser.habit = SomeHabit(dice);
    poser.speaks = dice.Below(stage.runs());
    actors.push_back(poser);
  }
  for (std::size_t i = actors.size(); i > 1; --i) std::swap(actors[i - 1], actors[dice.Below(i)]);
}

}  // namespace assay::dispute
