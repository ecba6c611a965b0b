// What the rules of elementwise ops share: shape inference over equal shapes, dependencies, and test cases that cover vector tails, empty
// tensors and special values. Pure functions; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/graph/op_def.h"

namespace assay::ops {

// A shape attribute from outside: at most eight extents, none negative, at most 2^34 elements.
Result<Shape> ShapeFrom(const std::vector<std::int64_t>& dims);

// `count` f32 inputs of one shape; one output like them.
Result<std::vector<TensorType>> InferEqualShapes(std::span<const TensorType> in, std::size_t count);
Result<std::vector<TensorType>> InferUnary(const Attrs& attrs, std::span<const TensorType> in);
Result<std::vector<TensorType>> InferBinary(const Attrs& attrs, std::span<const TensorType> in);

Status ExpectFinite(const char* name, float value);

// Element i of every aligned input, all of the others.
std::vector<InputRange> NeedsAligned(const OpInstance& op, int output, Range range);

// `flops` operations for each element of output 0.
template <int flops>
Cost ElementCost(const OpInstance& op) {
  Cost cost{.flops = static_cast<double>(flops) * static_cast<double>(op.out[0].elements())};
  for (const TensorType& type : op.in) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : op.out) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

// Cases for `inputs` equally shaped f32 inputs: tails, emptiness, scalars, special values, one for the gradient check where
// `smooth` fills every input.
std::vector<OpCase> ElementCases(std::size_t inputs, const Attrs& attrs, Fill smooth, bool gradient);

}  // namespace assay::ops
