// The data root: what a job's identity says about its training data (docs/formats/data.md). Pure functions; thread safe.
#pragma once

#include <span>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/thread_pool.h"
#include "assay/data/part.h"
#include "assay/merkle/sha256.h"

namespace assay {

// The hashes of an array's 4 KiB leaves. A pool makes it faster, never different; null: the calling thread does all.
std::vector<Digest> LeafHashes(const DataArray& array, ThreadPool* pool);
// The same, or in part anything, where the allowance says to stop.
std::vector<Digest> LeafHashes(const DataArray& array, ThreadPool* pool, const Allowance& allowance);

// From the root of each array that ArraysOf(descriptor) lists.
Digest DataRoot(const DataDescriptor& descriptor, std::span<const Digest> array_roots);
Digest DataRoot(const DataPart& part, ThreadPool* pool);
// An error where the allowance has no room for the hashes, or says to stop.
Result<Digest> DataRoot(const DataPart& part, ThreadPool* pool, Allowance& allowance);

}  // namespace assay
