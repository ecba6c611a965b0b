#include "assay/ops/elementwise.h"

#include <limits>

#include "assay/ops/rules.h"

namespace assay::ops {

Result<Shape> ShapeFrom(const std::vector<std::int64_t>& dims) {
  if (dims.size() > Shape::kMaxRank) return Err("shape: expected at most {} extents, got {}", Shape::kMaxRank, dims.size());
  for (std::int64_t d : dims) ASSAY_TRY(ExpectBetween("shape", d, 0, kMaxElements));
  const Shape shape(dims);
  ASSAY_TRY(ExpectReasonable(shape));
  return shape;
}

Result<std::vector<TensorType>> InferEqualShapes(std::span<const TensorType> in, std::size_t count) {
  ASSAY_TRY(ExpectFloats(in, count));
  ASSAY_TRY(ExpectReasonable(in[0].shape));
  for (std::size_t k = 1; k < count; ++k) ASSAY_TRY(ExpectShape(in, k, in[0]));
  return std::vector{in[0]};
}

Result<std::vector<TensorType>> InferUnary(const Attrs&, std::span<const TensorType> in) { return InferEqualShapes(in, 1); }
Result<std::vector<TensorType>> InferBinary(const Attrs&, std::span<const TensorType> in) { return InferEqualShapes(in, 2); }

Status ExpectFinite(const char* name, float value) {
  constexpr float kMax = std::numeric_limits<float>::max();
  if (!(value >= -kMax && value <= kMax)) return Err("{}: expected a finite number, got {}", name, value);
  return {};
}

std::vector<InputRange> NeedsAligned(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  for (std::size_t k = 0; k < op.in.size(); ++k) {
    const bool aligned = (op.def->aligned_inputs >> k & 1) != 0;
    NeedRange(needs, static_cast<int>(k), aligned ? range : Range{0, op.in[k].elements()});
  }
  return needs;
}

std::vector<OpCase> ElementCases(std::size_t inputs, const Attrs& attrs, Fill smooth, bool gradient) {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, Shape shape, Fill fill, bool check_gradient = false) {
    cases.push_back({.name = std::move(name),
                     .attrs = attrs,
                     .in = std::vector(inputs, F32(shape)),
                     .fill = std::vector(inputs, fill),
                     .gradient = check_gradient});
  };
  add("small", {2, 5}, smooth, gradient);
  add("scalar", {}, Fill::kNormal);
  add("empty", {0}, Fill::kNormal);
  add("empty_inside", {3, 0, 2}, Fill::kNormal);
  add("special", {6, 700}, Fill::kSpecial);
  add("threads", {3, 33000}, Fill::kNormal);
  for (std::int64_t n : {1, 3, 15, 16, 17, 1000, 1023, 1024, 1025}) add(fmt::format("n{}", n), {n}, Fill::kNormal);
  return cases;
}

}  // namespace assay::ops
