// Seeded mutations in the manner of a fuzzer, for runs without one. Every mutation follows from Philox, so a failure names its number. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "assay/base/bytes.h"

namespace assay::fuzz {

// Mutation `number` of some seed: a few flips, overwrites by boundary values, insertions, deletions, copies and splices.
Bytes Mutate(std::span<const Bytes> seeds, std::uint64_t number);

}  // namespace assay::fuzz
