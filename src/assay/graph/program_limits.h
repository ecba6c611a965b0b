// What reading a program may cost: these limits keep it within about 64 MB and a second, whoever wrote the bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

// Of an encoding; the largest that a job can describe has about two thirds of this.
inline constexpr std::size_t kMaxProgramBytes = std::size_t{4} << 20;
// Of a graph. The nodes of a step with all its microbatches: kMaxStepNodes (assay/job/limits.h).
inline constexpr std::uint32_t kMaxNodes = 1u << 16;
inline constexpr std::uint32_t kMaxValues = 1u << 17;
inline constexpr std::size_t kMaxNameBytes = 256;
// Of a graph's inputs, of its outputs, of the inputs of one node, and of the tensors of a state.
inline constexpr std::uint32_t kMaxNames = 1u << 14;
inline constexpr std::int64_t kMaxMicrobatches = std::int64_t{1} << 20;

}  // namespace assay
