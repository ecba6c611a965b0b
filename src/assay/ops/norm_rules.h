// What the rules of layernorm, rmsnorm and batchnorm share. Each sees its input as [rows, C].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/ops/rules.h"

namespace assay::ops {

inline constexpr AttrSpec kEpsilon[] = {{"eps", AttrKind::kFloat}};

// One input of a norm: all have the shape that the first, x, gives them.
struct NormInput {
  enum Kind { kWhole, kPerRow, kPerColumn } kind = kWhole;
  bool positive = false;  // a scale: test cases draw it away from zero
};

Status ExpectNormInputs(std::span<const TensorType> in, std::span<const NormInput> inputs);

struct NormCase {
  std::string name;
  Shape shape;  // of x
  Fill fill = Fill::kNormal;
  bool gradient = false;
};

// What the elements `range` of a result of x's shape need of inputs that a row's statistics and sums over a row are made of: whole rows, or what belongs to them.
std::vector<InputRange> NeedsOfRows(const OpInstance& op, std::span<const NormInput> inputs, Range range);
// What columns `range` of sums over all rows need of their inputs.
std::vector<InputRange> NeedsOfColumnSums(const OpInstance& op, std::span<const NormInput> inputs, Range range);

// Widths round the virtual lanes and pieces of a row reduction.
std::vector<NormCase> RowNormCases();
// Row counts round the blocks of a column reduction.
std::vector<NormCase> ColumnNormCases();
// The same, and a tensor without rows.
std::vector<NormCase> ParameterCases();
std::vector<OpCase> MakeCases(std::span<const NormCase> shapes, std::span<const NormInput> inputs, const Attrs& attrs);
// The same without gradient checks: for ops that have no gradient.
std::vector<OpCase> MakeFlatCases(std::vector<NormCase> shapes, std::span<const NormInput> inputs, const Attrs& attrs);

}  // namespace assay::ops
