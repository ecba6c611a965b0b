// What to do after a dispute that is undecided. A close call: whose run is to be followed, and by which commands (docs/formats/dispute.md, "Rounded jobs"). Somebody who was not heard:
// hearings.h. Somebody who gave way to another claim of its key: waiting_claims.h.
// Value types; pure functions.
#pragma once

#include <string>
#include <vector>

#include "assay/dispute/arbitrate.h"
#include "assay/verdict/next_step.h"

namespace assay::cli {

using verdict::NextStep;

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

}  // namespace assay::cli
