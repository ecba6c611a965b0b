// What to do after a dispute that a close call leaves undecided: whose run is to be followed, and by which commands (docs/formats/dispute.md, "Rounded jobs").
// Value types; pure functions.
#pragma once

#include <string>
#include <vector>

#include "assay/cli/json.h"
#include "assay/dispute/arbitrate.h"

namespace assay::cli {

// One claim that stands beside others.
struct NextStep {
  std::string follow;                   // label of whose run is to be followed
  std::string name;                     // and its URL or path
  std::string by;                       // label of who differs from it
  std::string followed_by{};            // label of who stands, follows it and claims the same: it has been done
  std::vector<std::string> commands{};  // otherwise: to train the follower, to provide it, and to dispute again
};

struct NextContext {
  std::string job;            // the job's file; empty: not known
  bool pair = false;          // two run directories
  std::string referee_key{};  // the file of the referee's key, where one was named
};

// Of every claim that stands and has met another in a close call; none where that is not why it is undecided. `labels`: of the providers that have a receipt.
std::vector<NextStep> NextSteps(const dispute::Arbitration& result, const std::vector<std::string>& labels,
                                const NextContext& context);

std::string NextText(const std::vector<NextStep>& next);
OrderedJson NextJson(const std::vector<NextStep>& next);

}  // namespace assay::cli
