// Simulated disputes over real runs of small jobs, under the real law and with real signatures.
#include <array>
#include <memory>

#include "jobs_for_test.h"
#include "real_stage.h"
#include "simulation.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kMostLiars = 8;

// Several microbatches, several lengths of an interval, clipping, dropout, images.
std::string JobOf(std::size_t which) {
  switch (which) {
    case 0: return MlpJob(6, 2, 2);
    case 1: return MlpJob(3, 1, 1);
    case 2: return MlpJob(8, 8, 1);
    case 3: return MlpJob(6, 3, 2);
    case 4: return Gpt2Job();
    default: return ResNetJob();
  }
}
constexpr std::size_t kJobs = 6;

const RealStage& StageOf(std::size_t which) {
  static std::array<std::unique_ptr<const RealStage>, kJobs> stages;
  if (!stages[which]) stages[which] = std::make_unique<const RealStage>(JobOf(which));
  return *stages[which];
}

}  // namespace

Simulated SimulateReal(std::uint64_t seed) {
  Dice dice(seed ^ 0x7265616c);
  const std::size_t which = dice.Below(8);
  Scenario scenario{.stage = StageOf(which < kJobs ? which : which - kJobs)};
  scenario.pinned = dice.One(2);
  scenario.open_bouts = SomeBouts(dice);
  scenario.second = dice.One(8);
  scenario.edits = 4;
  scenario.acts = 12;
  scenario.games = dice.One(3) ? 1 : 0;
  FillIn(scenario, kMostLiars, dice);
  return Simulate(scenario, seed);
}

}  // namespace assay::dispute
