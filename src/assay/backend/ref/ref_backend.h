// The backend that runs the reference kernels themselves: slow, and right by definition.
#pragma once

#include <memory>

#include "assay/backend/host.h"

namespace assay::ref {

// `pool` (may be shared) splits outputs into ranges.
std::unique_ptr<HostBackend> MakeRefBackend(ThreadPool& pool);

}  // namespace assay::ref
