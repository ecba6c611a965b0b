// Whether a job's training fits into the memory of a device or of this machine, and what would.
#pragma once

#include <cstddef>
#include <string>

#include "assay/backend/backend.h"
#include "assay/train/prepare.h"

namespace assay {

// What training takes of the backend's memory: the state and the work space, without what single kernels take for themselves.
std::size_t TrainingBytes(const Program& program, Backend& backend);
// The same on a CPU, for whoever has none of its backends at hand: all but the reference compute in place, and whoever rounds computes node by node.
std::size_t TrainingBytesOnHost(const PreparedJob& prepared);

// An error, with what would fit, where the device, or on the host the machine, has less memory free than training takes. The kernel of a machine
// without memory ends a process without a word, so this is asked before anything is taken.
Status CheckFits(const PreparedJob& prepared, Backend& backend);

// "with [batch] microbatch = 2, microbatches = 4 it takes 9.3 GB (...)": the largest split of the same batch that takes at most `bytes`.
std::string WhatWouldFit(const Job& job, Backend& backend, std::size_t bytes);

}  // namespace assay
