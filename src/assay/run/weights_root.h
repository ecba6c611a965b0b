// The roots of files of tensors, from the files alone: what a receipt says of model.safetensors (docs/formats/state.md, "Weights root") and what a snapshot
// says of itself. Thread safe.
#pragma once

#include <span>
#include <vector>

#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/merkle/tree.h"
#include "assay/tensor/safetensors.h"

namespace assay {

// Of tensors in host memory, in ascending name order.
Digest WeightsRoot(std::span<const TensorRef> weights, ThreadPool& pool);
// Of the tensors of a file, whatever its metadata says. An error: it has a tensor of an element type that no state has.
Result<Digest> WeightsRoot(const Safetensors& file, ThreadPool& pool);

// The entries of a file's tensors in name order; `file` must outlive them.
Result<std::vector<TensorEntry>> EntriesOf(const Safetensors& file, ThreadPool& pool);

}  // namespace assay
