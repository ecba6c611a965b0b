// What attention's kernels share on the device: sums and maxima of a warp that owns a row, dropout's draws, sums of the blocks of a contraction.
//
// For .cu files alone.
#pragma once

#include <cmath>
#include <cstdint>

#include "assay/backend/cublas/attention_heads.h"
#include "assay/numerics/random.h"

namespace assay::cublas::attention {

__device__ inline double WarpSum(double x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
__device__ inline double WarpMax(double x) {
  for (int step = 16; step > 0; step /= 2) x = fmax(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}
__device__ inline double LargestOf(const double* x, std::int64_t n, int lane) {
  double most = 0;
  for (std::int64_t j = lane; j < n; j += 32) most = fmax(most, x[j]);
  return WarpMax(most);
}

// What a lane adds up of a row of n values that the lanes share evenly: blocks of 128, blocks of 128 of their sums, these one after the other. With the five additions of WarpSum no
// term passes through more than SumDepth(n): a lane has a 32nd of the terms, and a sum of up to 128 may have any order.
class LaneSum {
 public:
  __device__ void Add(double x) {
    block_ += x;
    if (++count_ % 128 != 0) return;
    middle_ += block_;
    block_ = 0;
    if (count_ % (128 * 128) != 0) return;
    total_ += middle_;
    middle_ = 0;
  }
  __device__ double Total() const { return total_ + (middle_ + block_); }

 private:
  double block_ = 0, middle_ = 0, total_ = 0;
  std::int64_t count_ = 0;
};

// What dropout multiplies probabilities by.
struct Dropout {
  Dropout(const Geometry& g, const std::uint32_t* rng_words)
      : on(g.dropout > 0),
        factor(on ? 1.0 / (1.0 - double{g.dropout}) : 1.0),
        threshold(numerics::DropoutThreshold(g.dropout)),
        stream(g.stream),
        rng(rng_words) {}

  __device__ numerics::DrawKey Key() const { return numerics::MakeDrawKey(rng, stream); }
  __device__ bool Keeps(const numerics::DrawKey& key, std::int64_t element) const {
    const PhiloxBlock block = numerics::DrawBlock(key, static_cast<std::uint32_t>(element / 4));
    const auto word = element % 4;
    const std::uint32_t draw = word < 2 ? (word == 0 ? block[0] : block[1]) : (word == 2 ? block[2] : block[3]);
    return draw >= threshold;
  }
  // Of the pair that is so numbered; 1 where nothing is dropped.
  __device__ double Keep(const numerics::DrawKey& key, std::int64_t element) const {
    if (!on) return 1.0;
    return Keeps(key, element) ? factor : 0.0;
  }

  bool on;
  double factor;
  std::uint32_t threshold, stream;
  const std::uint32_t* rng;  // on the device
};

// The parts of an element, `stride` apart, added one after the other.
__device__ inline double AddParts(const double* parts, std::int64_t count, std::int64_t stride) {
  double sum = parts[0];
  for (std::int64_t part = 1; part < count; ++part) sum += parts[part * stride];
  return sum;
}

// The same of a contraction over n keys, in pairs: blocks of 128 and of 256 keys are both allowed then, depending on n, and this is as good as either.
__device__ inline double AddKeyParts(const double* parts, std::int64_t n, std::int64_t stride) {
  const std::int64_t count = (n + kKeyBlock - 1) / kKeyBlock;
  double sum = 0;
  for (std::int64_t part = 0; part < count; part += 2) {
    sum += part + 1 < count ? parts[part * stride] + parts[(part + 1) * stride] : parts[part * stride];
  }
  return sum;
}

}  // namespace assay::cublas::attention
