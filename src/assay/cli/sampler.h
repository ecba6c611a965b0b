// Choosing the next token from logits: a pure function under the numeric contract, so the same seed gives the same text everywhere.
#pragma once

#include <cstdint>
#include <span>

namespace assay::cli {

struct SamplerOptions {
  float temperature = 0.8f;  // 0: always the likeliest
  std::int64_t top_k = 0;    // only the k likeliest are drawn from; 0: all
  std::uint64_t seed = 1;
};

// `position` counts the tokens drawn. Of equal logits the one with the smaller id is the likelier; NaN is the least likely.
std::int64_t NextToken(std::span<const float> logits, const SamplerOptions& options, std::uint32_t position);

}  // namespace assay::cli
