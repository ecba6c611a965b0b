// Claims that were left out of a dispute because another claim of their key takes part, and how they come to be heard (docs/formats/dispute.md, "Who may take part").
//
// Whoever has a second claim could otherwise hide the one that is false behind a true one, which anybody can copy from a public receipt. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/cli/next_steps.h"
#include "assay/dispute/arbitrate.h"

namespace assay::cli {

struct WaitingClaim {
  std::size_t provider = 0;
  bool in_vain = false;  // the claim that took its place gave no answer
};

// Those that leave the dispute undecided, first those that waited in vain, each in the order of the list. None of a key that was found guilty, nor of a claim that somebody who stands shares. `verdict`: without them.
std::vector<WaitingClaim> LeftWaiting(const dispute::Arbitration& result, const std::string& verdict);

// Why, and what would decide it, in words.
std::string WaitingReason(const WaitingClaim& waiting, const std::vector<std::string>& labels);
std::string WaitingDecidedBy(const WaitingClaim& waiting, const dispute::Arbitration& result);

// A dispute of each with everybody of another key who stands: with fewer, who lets it win could be the one that is left.
std::vector<NextStep> WaitingSteps(const std::vector<WaitingClaim>& waiting, const dispute::Arbitration& result,
                                   const std::vector<std::string>& labels, const NextContext& context);

}  // namespace assay::cli
