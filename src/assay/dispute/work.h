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

}  // namespace assay::dispute
