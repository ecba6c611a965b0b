#include "assay/ops/norm_rules.h"

#include <fmt/format.h>

namespace assay::ops {
namespace {

TensorType TypeOf(const Shape& x, NormInput::Kind kind) {
  switch (kind) {
    case NormInput::kWhole: return F32(x);
    case NormInput::kPerRow: return F32(WithoutLastAxis(x));
    case NormInput::kPerColumn: return F32({x.Back(0)});
  }
  CheckFailed("known kind of input", __FILE__, __LINE__);
}

}  // namespace

std::vector<NormCase> RowNormCases() {
  std::vector<NormCase> cases = {{.name = "small", .shape = {3, 5}, .gradient = true},
                                 {.name = "rank3", .shape = {2, 3, 7}, .gradient = true},
                                 {.name = "rank1", .shape = {40}},
                                 {.name = "no_rows", .shape = {0, 4}},
                                 {.name = "special", .shape = {60, 5}, .fill = Fill::kSpecial}};
  for (std::int64_t n : {1, 3, 31, 32, 33, 64, 100, 768, 1023, 1024, 1025, 2100}) {
    cases.push_back({.name = fmt::format("c{}", n), .shape = {3, n}});
  }
  return cases;
}

std::vector<NormCase> ColumnNormCases() {
  std::vector<NormCase> cases = {{.name = "small", .shape = {5, 3}, .gradient = true},
                                 {.name = "image", .shape = {2, 3, 2, 4}, .gradient = true},
                                 {.name = "special", .shape = {130, 5}, .fill = Fill::kSpecial}};
  for (std::int64_t rows : {1, 2, 63, 64, 65, 129, 5000}) {
    cases.push_back({.name = fmt::format("r{}", rows), .shape = {rows, 37}});
  }
  for (std::int64_t n : {1, 3, 31, 32, 33, 64, 100, 768, 1025}) {
    cases.push_back({.name = fmt::format("c{}", n), .shape = {70, n}});
  }
  return cases;
}

std::vector<NormCase> ParameterCases() {
  std::vector<NormCase> cases = ColumnNormCases();
  cases.push_back({.name = "no_rows", .shape = {0, 4}});
  return cases;
}

std::vector<InputRange> NeedsOfRows(const OpInstance& op, std::span<const NormInput> inputs, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  const std::int64_t cols = LastAxisView(op.in[0]).cols;
  const Range rows = RowsOf(range, cols);
  for (int k = 0; k < static_cast<int>(inputs.size()); ++k) {
    switch (inputs[static_cast<std::size_t>(k)].kind) {
      case NormInput::kWhole: NeedRows(needs, k, rows, cols); break;
      case NormInput::kPerRow: NeedRange(needs, k, rows); break;
      case NormInput::kPerColumn: NeedRange(needs, k, {0, cols}); break;
    }
  }
  return needs;
}

std::vector<InputRange> NeedsOfColumnSums(const OpInstance& op, std::span<const NormInput> inputs, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  const MatrixView x = LastAxisView(op.in[0]);
  for (int k = 0; k < static_cast<int>(inputs.size()); ++k) {
    switch (inputs[static_cast<std::size_t>(k)].kind) {
      case NormInput::kWhole: NeedColumns(needs, k, {&range, 1}, x); break;
      case NormInput::kPerRow: NeedRange(needs, k, {0, x.rows}); break;
      case NormInput::kPerColumn: NeedRange(needs, k, range); break;
    }
  }
  return needs;
}

std::vector<OpCase> MakeCases(std::span<const NormCase> shapes, std::span<const NormInput> inputs, const Attrs& attrs) {
  std::vector<OpCase> cases;
  for (const NormCase& shape : shapes) {
    OpCase c{.name = shape.name, .attrs = attrs, .gradient = shape.gradient};
    for (const NormInput& input : inputs) {
      c.in.push_back(TypeOf(shape.shape, input.kind));
      c.fill.push_back(input.positive && shape.fill == Fill::kNormal ? Fill::kPositive : shape.fill);
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<OpCase> MakeFlatCases(std::vector<NormCase> shapes, std::span<const NormInput> inputs, const Attrs& attrs) {
  for (NormCase& shape : shapes) shape.gradient = false;
  return MakeCases(shapes, inputs, attrs);
}

Status ExpectNormInputs(std::span<const TensorType> in, std::span<const NormInput> inputs) {
  ASSAY_TRY(ExpectFloats(in, inputs.size()));
  ASSAY_TRY(RowsOfLastAxis(in[0].shape));
  for (std::size_t k = 1; k < in.size(); ++k) ASSAY_TRY(ExpectShape(in, k, TypeOf(in[0].shape, inputs[k].kind)));
  return {};
}

}  // namespace assay::ops
