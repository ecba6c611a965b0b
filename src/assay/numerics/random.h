// Random draws of tensors' elements (docs/NUMERICS.md, section 4). A draw is a pure function of its key and the element's index, so
// nothing depends on how a tensor is cut into pieces. Pure; thread safe.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "assay/base/philox.h"
#include "assay/numerics/functions.h"

namespace assay::numerics {

// Who draws: one node of one microbatch of one step of one job.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t step = 0;
  std::uint32_t microbatch = 0;
};

// From an op's "rng" input u32[4] {seed low, seed high, step, microbatch} and its stream attribute.
constexpr DrawKey MakeDrawKey(const std::uint32_t* rng, std::int64_t stream) {
  return {std::uint64_t{rng[1]} << 32 | rng[0], static_cast<std::uint32_t>(stream), rng[2], rng[3]};
}

// The four draws of elements 4 * block ... 4 * block + 3.
constexpr PhiloxBlock DrawBlock(const DrawKey& key, std::uint32_t block) {
  return Philox({static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)},
                {block, key.stream, key.step, key.microbatch});
}

constexpr std::uint32_t DrawU32(const DrawKey& key, std::int64_t i) {
  return DrawBlock(key, static_cast<std::uint32_t>(i / 4))[static_cast<std::size_t>(i % 4)];
}

// Dropout with probability p in [0, 1) keeps an element iff its draw is at least this.
constexpr std::uint32_t DropoutThreshold(float p) { return static_cast<std::uint32_t>(static_cast<double>(p) * 0x1p32); }
// What a kept element is multiplied by.
constexpr float DropoutFactor(float p) { return 1.0f / (1.0f - p); }

// The high 24 bits of a draw as a fraction in [0, 1).
constexpr float UniformFrom(std::uint32_t draw) { return static_cast<float>(draw >> 8) * 0x1p-24f; }
constexpr float DrawUniform(const DrawKey& key, std::int64_t i) { return UniformFrom(DrawU32(key, i)); }

// A standard normal variate by Box and Muller: elements 2j and 2j + 1 are the cosine and the sine branch of the draws of the pair.
inline float DrawNormal(const DrawKey& key, std::int64_t i) {
  const PhiloxBlock block = DrawBlock(key, static_cast<std::uint32_t>(i / 4));
  const std::size_t pair = static_cast<std::size_t>(i % 4) & 2;
  const float u = 1.0f - UniformFrom(block[pair]);  // in (0, 1], exact
  const float angle = 6.283185307f * UniformFrom(block[pair + 1]);
  const float radius = std::sqrt(-2.0f * Log<Scalar>(u));
  return radius * ((i & 1) == 0 ? Cos<Scalar>(angle) : Sin<Scalar>(angle));
}

}  // namespace assay::numerics
