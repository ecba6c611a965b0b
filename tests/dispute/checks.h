// What must hold when a simulated dispute has come to its end (simulation.h).
#pragma once

#include <string>
#include <vector>

#include "desk.h"
#include "dice.h"
#include "simulation.h"
#include "strangers.h"

namespace assay::dispute {

struct Ended {
  const Scenario& scenario;
  const LawOptions& options;
  const Record& record;
  const std::vector<std::string>& receipts;  // by address, as are those that follow
  Loot& loot;
  Dice& dice;
  std::vector<ProviderId> parties{};  // whose claim was handed out there
  std::vector<const Desk*> desks{};   // of the honest; null: a liar's
};

// The first thing that is wrong goes into the result, and all that was counted.
void CheckPlay(const Ended& ended, Simulated& result);

}  // namespace assay::dispute
