// A table of a few ops for the tests of graph/, which does not know the real one.
#pragma once

#include <array>

#include "assay/graph/autodiff.h"
#include "assay/graph/op_def.h"

namespace assay::mini {

enum : OpIndex { kAdd, kFill, kMul, kPair, kScale, kCount };

inline Result<std::vector<TensorType>> InferBinary(const Attrs&, std::span<const TensorType> in) {
  if (in.size() != 2 || !(in[0] == in[1])) return Err("expected two operands of the same type");
  return std::vector{in[0]};
}

inline Result<std::vector<TensorType>> InferFill(const Attrs& attrs, std::span<const TensorType> in) {
  if (!in.empty()) return Err("expected no operand");
  if (attrs.Ints(0).size() > Shape::kMaxRank) return Err("too many axes");
  Shape shape;
  for (std::int64_t extent : attrs.Ints(0)) {
    if (extent < 0) return Err("negative extent");
    shape.Append(extent);
  }
  return std::vector{TensorType{DType::kF32, shape}};
}

// Two outputs: the input, and twice the input. Only the first is differentiable.
inline Result<std::vector<TensorType>> InferPair(const Attrs&, std::span<const TensorType> in) {
  if (in.size() != 1) return Err("expected one operand");
  return std::vector{in[0], in[0]};
}

inline Result<std::vector<TensorType>> InferScale(const Attrs&, std::span<const TensorType> in) {
  if (in.size() != 1) return Err("expected one operand");
  return std::vector{in[0]};
}

inline const OpTable& Table() {
  static constexpr std::array<AttrSpec, 2> kFillAttrs = {{{"shape", AttrKind::kInts}, {"value", AttrKind::kFloat}}};
  static constexpr std::array<AttrSpec, 2> kScaleAttrs = {{{"factor", AttrKind::kFloat}, {"times", AttrKind::kInt}}};
  static const std::array<OpDef, kCount> defs = [] {
    std::array<OpDef, kCount> d;
    d[kAdd].name = "add";
    d[kAdd].infer = InferBinary;
    d[kAdd].gradient = [](GradientBuilder& g) {
      g.SetInputGradient(0, *g.OutputGradient(0));
      g.SetInputGradient(1, *g.OutputGradient(0));
    };
    d[kFill].name = "fill";
    d[kFill].infer = InferFill;
    d[kFill].attrs = kFillAttrs;
    d[kFill].gradient = [](GradientBuilder&) {};
    d[kMul].name = "mul";
    d[kMul].infer = InferBinary;
    d[kMul].gradient = [](GradientBuilder& g) {
      g.SetInputGradient(0, g.Emit(kMul, {}, {*g.OutputGradient(0), g.input(1)}));
      g.SetInputGradient(1, g.Emit(kMul, {}, {*g.OutputGradient(0), g.input(0)}));
    };
    d[kPair].name = "pair";
    d[kPair].infer = InferPair;
    d[kPair].gradient = [](GradientBuilder& g) { g.SetInputGradient(0, g.OutputGradientOrZero(0)); };
    d[kScale].name = "scale";
    d[kScale].infer = InferScale;
    d[kScale].attrs = kScaleAttrs;
    for (OpIndex i = 0; i < kCount; ++i) {
      d[i].index = i;
      d[i].wire_id = static_cast<std::uint16_t>(10 * i + 1);
      d[i].version = 3;
    }
    return d;
  }();
  static const std::array<const OpDef*, kCount> pointers = [] {
    std::array<const OpDef*, kCount> p{};
    for (std::size_t i = 0; i < kCount; ++i) p[i] = &defs[i];
    return p;
  }();
  static const OpTable table{pointers};
  return table;
}

inline constexpr AutodiffOps kAutodiff{.add = kAdd, .fill = kFill};

}  // namespace assay::mini
