// One sample's place in the order in which samples are used (BatchIndices in dataset.h has a whole step's). Pure; thread safe.
#pragma once

#include <cstdint>

namespace assay {

// BatchIndices(seed, samples, step, count)[position].
std::int64_t BatchIndex(std::uint64_t seed, std::int64_t samples, std::uint32_t step, std::int64_t count,
                        std::int64_t position);

}  // namespace assay
