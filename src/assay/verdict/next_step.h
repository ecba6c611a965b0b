// One thing to do after a dispute that is undecided, and by which commands; cli/next_steps.h finds them. Value type; pure functions.
#pragma once

#include <string>
#include <vector>

#include "assay/verdict/json.h"

namespace assay::verdict {

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

OrderedJson NextJson(const std::vector<NextStep>& next);

}  // namespace assay::verdict
