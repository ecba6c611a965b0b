// What this machine is and how fast, measured in a fraction of a second with the kernels that train.
#pragma once

#include "assay/worker/craft.h"
#include "assay/worker/link.h"

namespace assay::worker {

// Fills in what is measured. The rest is for who knows it.
void Measure(const Compute& compute, Hardware& hardware);

}  // namespace assay::worker
