#include "cheats.h"

namespace assay::attacks {

// A whole and true run, of which only who knows what was asked for can tell that it is the wrong one.
Result<Hooks> OtherJob(const Setting&) {
  return Hooks{.job = [](Job& job) { job.steps = job.steps > 1 ? job.steps / 2 : 2; }};
}

}  // namespace assay::attacks
