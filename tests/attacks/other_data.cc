#include "cheats.h"

namespace assay::attacks {

// Another draw of generated data, or less of a text.
Result<Hooks> OtherData(const Setting&) {
  return Hooks{.job = [](Job& job) {
    job.data.seed += 1;
    job.data.validation += 0.1f;
  }};
}

}  // namespace assay::attacks
