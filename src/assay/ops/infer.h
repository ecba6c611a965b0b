// Small checks shared by shape rules. Programs come from outside, so a rule states every assumption of its kernels here: input count,
// element type, and a bound on the number of elements that keeps every index computation inside 64 bits. Pure; thread safe.
#pragma once

#include <cstdint>
#include <span>

#include "assay/graph/op_def.h"

namespace assay::ops {

// The random streams number a tensor's elements in blocks of four with 32 bits (docs/NUMERICS.md), which bounds every tensor.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 34;

inline Status ExpectInputs(std::span<const TensorType> in, std::size_t count) {
  if (in.size() != count) return Err("expected {} inputs, got {}", count, in.size());
  return {};
}

inline Status ExpectF32(std::span<const TensorType> in, std::size_t k) {
  if (in[k].dtype != DType::kF32) return Err("input {}: expected f32, got {}", k, ToString(in[k]));
  return {};
}

inline Status ExpectF32Rank(std::span<const TensorType> in, std::size_t k, int rank) {
  if (in[k].dtype != DType::kF32 || in[k].shape.rank() != rank) {
    return Err("input {}: expected f32 of rank {}, got {}", k, rank, ToString(in[k]));
  }
  return {};
}

inline Status ExpectShape(std::span<const TensorType> in, std::size_t k, const TensorType& type) {
  if (in[k] != type) return Err("input {}: expected {}, got {}", k, ToString(type), ToString(in[k]));
  return {};
}

inline Status ExpectFlag(const char* name, std::int64_t value) {
  if (value != 0 && value != 1) return Err("{}: expected 0 or 1, got {}", name, value);
  return {};
}

inline Status ExpectBetween(const char* name, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high) return Err("{}: expected {} to {}, got {}", name, low, high, value);
  return {};
}

inline bool TooLarge(const Shape& shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape.dims()) {
    if (d == 0) return false;
  }
  for (std::int64_t d : shape.dims()) {
    if (d > kMaxElements / n) return true;
    n *= d;
  }
  return false;
}

inline Result<std::vector<TensorType>> OutputsF32(std::vector<Shape> shapes) {
  std::vector<TensorType> out;
  for (const Shape& shape : shapes) {
    if (TooLarge(shape)) return Err("output {}: more than 2^34 elements", ToString(shape));
    out.push_back({DType::kF32, shape});
  }
  return out;
}

inline Result<std::vector<TensorType>> OutputLike(DType dtype, const Shape& shape) {
  if (TooLarge(shape)) return Err("output {}: more than 2^34 elements", ToString(shape));
  return std::vector<TensorType>{{dtype, shape}};
}

// Bytes read and written once.
inline double TouchedBytes(const OpInstance& op) {
  double bytes = 0;
  for (const TensorType& type : op.in) bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : op.out) bytes += static_cast<double>(type.bytes());
  return bytes;
}

// All of input k.
inline InputRange Whole(const OpInstance& op, int k) {
  const std::int64_t n = op.in[static_cast<std::size_t>(k)].elements();
  return {.input = k, .begin = 0, .length = n, .stride = n, .repeat = 1};
}

}  // namespace assay::ops
