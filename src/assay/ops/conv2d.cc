// conv2d, conv2d_grad_x, conv2d_grad_w: shape rules, gradient, dependencies.
#include <algorithm>

#include "assay/ops/conv2d_cases.h"
#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/define.h"
#include "assay/ops/digits.h"
#include "assay/ops/infer.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kAttrs[] = {{"stride", AttrKind::kInt}, {"pad", AttrKind::kInt}, {"groups", AttrKind::kInt}, kDigits};
constexpr AttrSpec kGradXAttrs[] = {{"stride", AttrKind::kInt}, {"pad", AttrKind::kInt},   {"groups", AttrKind::kInt},
                                    {"height", AttrKind::kInt}, {"width", AttrKind::kInt}, kDigits};
constexpr AttrSpec kGradWAttrs[] = {{"stride", AttrKind::kInt},   {"pad", AttrKind::kInt},      {"groups", AttrKind::kInt},
                                    {"kernel_h", AttrKind::kInt}, {"kernel_w", AttrKind::kInt}, kDigits};

constexpr std::int64_t kMaxExtent = std::int64_t{1} << 24;  // of an image's side, a kernel's side, a stride or a pad

// Types of the three tensors of a convolution, whichever of them the op at hand computes.
struct Conv2dTypes {
  Shape x, weights, y;
};

Status ExpectImages(std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 2));
  ASSAY_TRY(ExpectF32Rank(in, 0, 4));
  ASSAY_TRY(ExpectF32Rank(in, 1, 4));
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::int64_t d : in[k].shape.dims()) {
      if (d < 1) return Err("input {}: expected extents of at least 1, got {}", k, ToString(in[k]));
    }
  }
  return {};
}

Result<Conv2dTypes> Check(const Attrs& attrs, const Shape& x, const Shape& weights) {
  ASSAY_TRY(ExpectBetween("stride", attrs.Int(0), 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("pad", attrs.Int(1), 0, kMaxExtent));
  for (int axis = 1; axis < 3; ++axis) {
    ASSAY_TRY(ExpectBetween("image side", x[axis], 1, kMaxExtent));
    ASSAY_TRY(ExpectBetween("kernel side", weights[axis], 1, kMaxExtent));
    if (x[axis] + 2 * attrs.Int(1) < weights[axis]) {
      return Err("expected a kernel inside the padded image, got {} over {}", ToString(weights), ToString(x));
    }
  }
  const std::int64_t groups = attrs.Int(2);
  if (groups < 1 || x[3] % groups != 0 || weights[0] % groups != 0 || weights[3] != x[3] / groups) {
    return Err("expected channels that {} groups divide, got {} over {}", groups, ToString(weights), ToString(x));
  }
  const Conv2dGeometry g = GeometryOfConv2d(attrs, x, weights);
  return Conv2dTypes{x, weights, {g.n, g.oh, g.ow, g.o}};
}

Result<std::vector<TensorType>> Infer(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectImages(in));
  ASSAY_TRY(ExpectDigits(attrs, 3));
  ASSAY_ASSIGN(const Conv2dTypes types, Check(attrs, in[0].shape, in[1].shape));
  return OutputsF32({types.y});
}

Result<std::vector<TensorType>> InferGradX(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectImages(in));
  ASSAY_TRY(ExpectDigits(attrs, 5));
  ASSAY_TRY(ExpectBetween("height", attrs.Int(3), 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("width", attrs.Int(4), 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("groups", attrs.Int(2), 1, in[1].shape[0]));
  const Shape x{in[0].shape[0], attrs.Int(3), attrs.Int(4), in[1].shape[3] * attrs.Int(2)};
  ASSAY_ASSIGN(const Conv2dTypes types, Check(attrs, x, in[1].shape));
  ASSAY_TRY(ExpectShape(in, 0, {DType::kF32, types.y}));
  return OutputsF32({x});
}

Result<std::vector<TensorType>> InferGradW(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectImages(in));
  ASSAY_TRY(ExpectDigits(attrs, 5));
  ASSAY_TRY(ExpectBetween("kernel_h", attrs.Int(3), 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("kernel_w", attrs.Int(4), 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("groups", attrs.Int(2), 1, in[0].shape[3]));
  const Shape weights{in[1].shape[3], attrs.Int(3), attrs.Int(4), in[0].shape[3] / attrs.Int(2)};
  ASSAY_ASSIGN(const Conv2dTypes types, Check(attrs, in[0].shape, weights));
  ASSAY_TRY(ExpectShape(in, 1, {DType::kF32, types.y}));
  return OutputsF32({weights});
}

void Gradient(GradientBuilder& g) {
  const ValueId dy = g.OutputGradientOrZero(0);
  const Shape x = g.type(g.input(0)).shape;
  const Shape w = g.type(g.input(1)).shape;
  const std::int64_t stride = g.attrs().Int(0), pad = g.attrs().Int(1), groups = g.attrs().Int(2);
  const int digits = DigitsOf(g.def(), g.attrs());
  if (g.Wants(0)) {
    const Attrs attrs = WithDigits({stride, pad, groups, x[1], x[2]}, digits);
    g.SetInputGradient(0, g.Emit(op::conv2d_grad_x, attrs, {dy, g.input(1)}));
  }
  if (g.Wants(1)) {
    const Attrs attrs = WithDigits({stride, pad, groups, w[1], w[2]}, digits);
    g.SetInputGradient(1, g.Emit(op::conv2d_grad_w, attrs, {g.input(0), dy}));
  }
}

Cost CostFor(const OpInstance& op, const Conv2dGeometry& g) {
  const double outputs = static_cast<double>(g.n * g.oh * g.ow) * static_cast<double>(g.o);
  return {.flops = 2.0 * outputs * static_cast<double>(g.kh * g.kw * g.group_c()), .bytes = TouchedBytes(op)};
}

Cost CostOf(const OpInstance& op) { return CostFor(op, GeometryOfConv2d(op.attrs, op.in[0].shape, op.in[1].shape)); }
Cost CostOfGradX(const OpInstance& op) { return CostFor(op, GeometryOfConv2dGradX(op.attrs, op.in[0].shape, op.in[1].shape)); }
Cost CostOfGradW(const OpInstance& op) { return CostFor(op, GeometryOfConv2dGradW(op.attrs, op.in[0].shape, op.in[1].shape)); }

// [rows) x [columns) of image `image` of a tensor [n, height, width, channels].
InputRange Patch(int input, std::int64_t image, Range rows, Range columns, std::int64_t height, std::int64_t width,
                 std::int64_t channels) {
  return {.input = input,
          .begin = ((image * height + rows.begin) * width + columns.begin) * channels,
          .length = columns.size() * channels,
          .stride = width * channels,
          .repeat = rows.size()};
}

Range Clamp(Range range, std::int64_t limit) {
  return {std::clamp(range.begin, std::int64_t{0}, limit), std::clamp(range.end, std::int64_t{0}, limit)};
}

std::int64_t FloorDiv(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Calls patch(image, rows, columns) for the boxes that cover elements `range` of a tensor [n, height, width, channels].
template <class F>
void ForEachBox(Range range, std::int64_t height, std::int64_t width, std::int64_t channels, F patch) {
  if (range.size() <= 0) return;
  const std::int64_t last_pixel = (range.end - 1) / channels;
  std::int64_t pixel = range.begin / channels;
  while (pixel <= last_pixel) {
    const std::int64_t image = pixel / (height * width);
    const std::int64_t last = std::min(last_pixel, (image + 1) * height * width - 1);
    const Range rows{pixel / width % height, last / width % height + 1};
    const Range columns = rows.size() == 1 ? Range{pixel % width, last % width + 1} : Range{0, width};
    patch(image, rows, columns);
    pixel = last + 1;
  }
}

std::vector<InputRange> Dependencies(const OpInstance& op, int, Range range) {
  const Conv2dGeometry g = GeometryOfConv2d(op.attrs, op.in[0].shape, op.in[1].shape);
  std::vector<InputRange> needed;
  ForEachBox(range, g.oh, g.ow, g.o, [&](std::int64_t image, Range rows, Range columns) {
    const Range h = Clamp({rows.begin * g.stride - g.pad, (rows.end - 1) * g.stride - g.pad + g.kh}, g.h);
    const Range w = Clamp({columns.begin * g.stride - g.pad, (columns.end - 1) * g.stride - g.pad + g.kw}, g.w);
    if (h.size() > 0 && w.size() > 0) needed.push_back(Patch(0, image, h, w, g.h, g.w, g.c));
  });
  const bool one_pixel = range.size() > 0 && range.begin / g.o == (range.end - 1) / g.o;
  const Range outputs = one_pixel ? Range{range.begin % g.o, (range.end - 1) % g.o + 1} : Range{0, g.o};
  const std::int64_t kernel = g.kh * g.kw * g.group_c();
  if (range.size() > 0) {
    needed.push_back(
        {.input = 1, .begin = outputs.begin * kernel, .length = outputs.size() * kernel, .stride = kernel, .repeat = 1});
  }
  return needed;
}

std::vector<InputRange> DependenciesGradX(const OpInstance& op, int, Range range) {
  const Conv2dGeometry g = GeometryOfConv2dGradX(op.attrs, op.in[0].shape, op.in[1].shape);
  std::vector<InputRange> needed;
  // The windows over pixels [first, last] are those whose start lies in [first + pad - kernel + 1, last + pad].
  const auto windows = [&](Range pixels, std::int64_t kernel, std::int64_t limit) {
    return Clamp({FloorDiv(pixels.begin + g.pad - kernel + g.stride, g.stride), FloorDiv(pixels.end - 1 + g.pad, g.stride) + 1},
                 limit);
  };
  ForEachBox(range, g.h, g.w, g.c, [&](std::int64_t image, Range rows, Range columns) {
    const Range h = windows(rows, g.kh, g.oh);
    const Range w = windows(columns, g.kw, g.ow);
    if (h.size() > 0 && w.size() > 0) needed.push_back(Patch(0, image, h, w, g.oh, g.ow, g.o));
  });
  if (range.size() > 0) needed.push_back(Whole(op, 1));
  return needed;
}

std::vector<InputRange> DependenciesGradW(const OpInstance& op, int, Range range) {
  const Conv2dGeometry g = GeometryOfConv2dGradW(op.attrs, op.in[0].shape, op.in[1].shape);
  if (range.size() <= 0) return {};
  const std::int64_t kernel = g.kh * g.kw * g.group_c();
  const Range outputs{range.begin / kernel, (range.end - 1) / kernel + 1};
  const Range groups{outputs.begin / g.group_o(), (outputs.end - 1) / g.group_o() + 1};
  return {{.input = 0,
           .begin = groups.begin * g.group_c(),
           .length = groups.size() * g.group_c(),
           .stride = g.c,
           .repeat = g.n * g.h * g.w},
          {.input = 1, .begin = outputs.begin, .length = outputs.size(), .stride = g.o, .repeat = g.n * g.oh * g.ow}};
}

}  // namespace

OpDef Define_conv2d() {
  OpDef def;
  def.attrs = kAttrs;
  def.infer = Infer;
  def.gradient = Gradient;
  def.cost = CostOf;
  def.dependencies = Dependencies;
  def.cases = Conv2dCases;
  return def;
}

OpDef Define_conv2d_grad_x() {
  OpDef def;
  def.attrs = kGradXAttrs;
  def.infer = InferGradX;
  def.cost = CostOfGradX;
  def.dependencies = DependenciesGradX;
  def.cases = Conv2dGradXCases;
  return def;
}

OpDef Define_conv2d_grad_w() {
  OpDef def;
  def.attrs = kGradWAttrs;
  def.infer = InferGradW;
  def.cost = CostOfGradW;
  def.dependencies = DependenciesGradW;
  def.cases = Conv2dGradWCases;
  return def;
}

}  // namespace assay::ops
