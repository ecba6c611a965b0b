// Groups for backends that run them node by node: results are numbered in the order of the nodes, all elements of one before the next. What other
// backends keep in slots of a few elements is kept whole.
#pragma once

#include <functional>

#include "assay/backend/backend.h"
#include "assay/tensor/memory_space.h"

namespace assay {

// Calls `run` for each node. `slots` is memory of `memory`, kept from group to group.
void RunNodeByNode(const Group& group, MemorySpace& memory, Allocation& slots,
                   const std::function<void(const KernelArgs&)>& run);

}  // namespace assay
