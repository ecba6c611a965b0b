// What this machine is and how fast, measured in a fraction of a second with the kernels that train: a matrix product, and hashes of a tensor.
#pragma once

#include "assay/worker/craft.h"
#include "assay/worker/link.h"

namespace assay::worker {

// Fills in what is measured. The rest is for who knows it.
void Measure(const Compute& compute, Hardware& hardware);
std::string ProcessorName();

}  // namespace assay::worker
