// What to do after a dispute that is undecided. A close call: whose run is to be followed, and by which commands (docs/formats/dispute.md, "Rounded jobs"). Somebody who was not heard:
// hearings.h. Somebody who gave way to another claim of its key: waiting_claims.h.
// Value types; pure functions.
#pragma once

#include <string>
#include <vector>

#include "assay/cli/json.h"
#include "assay/dispute/arbitrate.h"

namespace assay::cli {

// One claim that stands beside others, or that was not heard.
struct NextStep {
  std::string follow{};       // label of whose run is to be followed; empty:
  std::string hear{};         // label of who is to be heard
  std::string name{};         // its URL or path
  std::string by{};           // label of who differs from it and is to follow it, or to be disputed with it alone
  std::string followed_by{};  // label of who stands, follows it and claims the same: it has been done
  bool waits = false;         // who is to be heard gave way to another claim of its key
  std::string referee{};      // the public key that is to be named; empty: there is none to name
  std::vector<std::string>
      commands{};  // otherwise: to train the follower, or to admit the referee; to provide; to dispute again
};

struct NextContext {
  std::string job;                       // the job's file; empty: not known
  std::string job_id{};                  // 64 hex digits
  bool pair = false;                     // two run directories
  std::string referee_key{};             // the file of the referee's key, where one was named
  std::string key_file{};                // the one that was used; empty: the key was made for this dispute
  std::string referee{};                 // its public key
  std::vector<std::string> providers{};  // as they were given
};

// Of every claim that stands and has met another in a close call; none where that is not why it is undecided. `labels`: of the providers that have a receipt.
std::vector<NextStep> NextSteps(const dispute::Arbitration& result, const std::vector<std::string>& labels,
                                const NextContext& context);

std::string NextText(const std::vector<NextStep>& next);
OrderedJson NextJson(const std::vector<NextStep>& next);

}  // namespace assay::cli
