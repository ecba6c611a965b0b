// What answering costs a provider. Value type.
#pragma once

#include <cstdint>

namespace assay::dispute {

struct Work {
  std::int64_t steps_run = 0;
  std::int64_t steps_traced = 0;
  std::int64_t batches_loaded = 0;
  friend bool operator==(const Work&, const Work&) = default;
};

// What was done between two readings of a meter.
inline Work Since(const Work& before, const Work& after) {
  return {.steps_run = after.steps_run - before.steps_run,
          .steps_traced = after.steps_traced - before.steps_traced,
          .batches_loaded = after.batches_loaded - before.batches_loaded};
}

}  // namespace assay::dispute
