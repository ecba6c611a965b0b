// Rules of the poolings: max_pool2d avg_pool2d global_avg_pool and their gradients.
#include <limits>

#include "assay/ops/define.h"
#include "assay/ops/pool_geometry.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kWindow[] = {
    {"kernel_h", AttrKind::kInt}, {"kernel_w", AttrKind::kInt}, {"stride", AttrKind::kInt}, {"pad", AttrKind::kInt}};
constexpr AttrSpec kWindowAndImage[] = {{"kernel_h", AttrKind::kInt}, {"kernel_w", AttrKind::kInt}, {"stride", AttrKind::kInt},
                                        {"pad", AttrKind::kInt},      {"height", AttrKind::kInt},   {"width", AttrKind::kInt}};
constexpr AttrSpec kImage[] = {{"height", AttrKind::kInt}, {"width", AttrKind::kInt}};
constexpr std::int64_t kMaxExtent = std::numeric_limits<std::int32_t>::max();

// A pixel's number must fit in the argmax.
Status ExpectImage(std::int64_t height, std::int64_t width) {
  ASSAY_TRY(ExpectBetween("height", height, 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("width", width, 1, kMaxExtent));
  if (height * width > kMaxExtent) return Err("an image of {} x {} pixels is too large", height, width);
  return {};
}

// The pooled shape of images `x`.
Result<Shape> Pooled(const Attrs& attrs, const Shape& x) {
  ASSAY_TRY(ExpectReasonable(x));
  ASSAY_TRY(ExpectImage(x[1], x[2]));
  const std::int64_t stride = attrs.Int(2);
  const std::int64_t pad = attrs.Int(3);
  ASSAY_TRY(ExpectBetween("kernel_h", attrs.Int(0), 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("kernel_w", attrs.Int(1), 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("stride", stride, 1, kMaxExtent));
  ASSAY_TRY(ExpectBetween("pad", pad, 0, std::min(attrs.Int(0), attrs.Int(1)) - 1));
  if (attrs.Int(0) > x[1] + 2 * pad || attrs.Int(1) > x[2] + 2 * pad) {
    return Err("a window of {} x {} does not fit in the padded image {}", attrs.Int(0), attrs.Int(1), ToString(x));
  }
  const Shape out{x[0], (x[1] + 2 * pad - attrs.Int(0)) / stride + 1, (x[2] + 2 * pad - attrs.Int(1)) / stride + 1, x[3]};
  ASSAY_TRY(ExpectReasonable(out));
  return out;
}

Result<std::vector<TensorType>> InferMaxPool(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  ASSAY_TRY(ExpectF32Rank(in, 0, 4));
  ASSAY_ASSIGN(const Shape out, Pooled(attrs, in[0].shape));
  return std::vector{F32(out), I32(out)};
}

Result<std::vector<TensorType>> InferAvgPool(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_ASSIGN(const auto out, InferMaxPool(attrs, in));
  return std::vector{out[0]};
}

// The images that `in[0]`, a pooled gradient, belongs to.
Result<Shape> Unpooled(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectF32Rank(in, 0, 4));
  ASSAY_TRY(ExpectImage(attrs.Int(4), attrs.Int(5)));
  const Shape x{in[0].shape[0], attrs.Int(4), attrs.Int(5), in[0].shape[3]};
  ASSAY_ASSIGN(const Shape out, Pooled(attrs, x));
  ASSAY_TRY(ExpectShape(in, 0, F32(out)));
  return x;
}

Result<std::vector<TensorType>> InferMaxPoolGrad(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 2));
  ASSAY_ASSIGN(const Shape x, Unpooled(attrs, in));
  ASSAY_TRY(ExpectShape(in, 1, I32(in[0].shape)));
  return std::vector{F32(x)};
}

Result<std::vector<TensorType>> InferAvgPoolGrad(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  ASSAY_ASSIGN(const Shape x, Unpooled(attrs, in));
  return std::vector{F32(x)};
}

Result<std::vector<TensorType>> InferGlobal(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  ASSAY_TRY(ExpectF32Rank(in, 0, 4));
  const Shape& x = in[0].shape;
  ASSAY_TRY(ExpectReasonable(x));
  ASSAY_TRY(ExpectImage(x[1], x[2]));
  return std::vector{F32({x[0], x[3]})};
}

Result<std::vector<TensorType>> InferGlobalGrad(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  ASSAY_TRY(ExpectF32Rank(in, 0, 2));
  ASSAY_TRY(ExpectImage(attrs.Int(0), attrs.Int(1)));
  const Shape x{in[0].shape[0], attrs.Int(0), attrs.Int(1), in[0].shape[1]};
  ASSAY_TRY(ExpectReasonable(x));
  return std::vector{F32(x)};
}

Attrs WithImage(const Attrs& attrs, const Shape& x) {
  Attrs out = attrs;
  out.Append(x[1]);
  out.Append(x[2]);
  return out;
}

void GradientMaxPool(GradientBuilder& g) {
  const Attrs attrs = WithImage(g.attrs(), g.type(g.input(0)).shape);
  g.SetInputGradient(0, g.Emit(op::max_pool2d_grad, attrs, {g.OutputGradientOrZero(0), g.output(1)}));
}

void GradientAvgPool(GradientBuilder& g) {
  const Attrs attrs = WithImage(g.attrs(), g.type(g.input(0)).shape);
  g.SetInputGradient(0, g.Emit(op::avg_pool2d_grad, attrs, {g.OutputGradientOrZero(0)}));
}

void GradientGlobal(GradientBuilder& g) {
  const Attrs attrs = WithImage({}, g.type(g.input(0)).shape);
  g.SetInputGradient(0, g.Emit(op::global_avg_pool_grad, attrs, {g.OutputGradientOrZero(0)}));
}

// What elements `range` of images `to` need of images `from` when rows and columns map through `rows` and `cols`: a rectangle for a
// range inside one row of pixels, whole rows of pixels otherwise.
template <class MapRows, class MapCols>
void NeedImage(std::vector<InputRange>& needs, int input, const Shape& from, const Shape& to, Range range, MapRows rows,
               MapCols cols) {
  const std::int64_t line = from[2] * from[3];
  const Range lines = RowsOf(range, to[2] * to[3]);  // numbered over all images
  const std::int64_t first_image = lines.begin / to[1];
  const std::int64_t last_image = (lines.end - 1) / to[1];
  if (lines.size() == 1) {
    const std::int64_t y = lines.begin % to[1];
    const Range pixels = RowsOf(range, to[3]);
    const Range h = rows(Range{y, y + 1});
    const Range w = cols(Range{pixels.begin - lines.begin * to[2], pixels.end - lines.begin * to[2]});
    if (h.size() <= 0 || w.size() <= 0) return;
    needs.push_back({.input = input,
                     .begin = (first_image * from[1] + h.begin) * line + w.begin * from[3],
                     .length = w.size() * from[3],
                     .stride = line,
                     .repeat = h.size()});
    return;
  }
  const std::int64_t y0 = lines.begin % to[1];
  const std::int64_t y1 = (lines.end - 1) % to[1] + 1;
  const std::int64_t begin = first_image * from[1] + rows(Range{y0, first_image == last_image ? y1 : to[1]}).begin;
  const std::int64_t end = last_image * from[1] + rows(Range{first_image == last_image ? y0 : 0, y1}).end;
  NeedRange(needs, input, {begin * line, end * line});
}

std::vector<InputRange> NeedsPool(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  const PoolGeometry g = PoolGeometryOf(op.attrs, op.in[0].shape, op.out[0].shape);
  NeedImage(
      needs, 0, op.in[0].shape, op.out[0].shape, range, [&](Range r) { return g.h.Pixels(r); },
      [&](Range r) { return g.w.Pixels(r); });
  return needs;
}

std::vector<InputRange> NeedsPoolGrad(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  const PoolGeometry g = PoolGeometryOf(op.attrs, op.out[0].shape, op.in[0].shape);
  for (std::size_t k = 0; k < op.in.size(); ++k) {
    NeedImage(
        needs, static_cast<int>(k), op.in[k].shape, op.out[0].shape, range, [&](Range r) { return g.h.Windows(r); },
        [&](Range r) { return g.w.Windows(r); });
  }
  return needs;
}

std::vector<InputRange> NeedsGlobal(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  const Shape& x = op.in[0].shape;
  const std::int64_t channels = x[3];
  const std::int64_t pixels = x[1] * x[2];
  const Range images = RowsOf(range, channels);
  if (images.size() == 1) {
    const std::int64_t c = range.begin - images.begin * channels;
    needs.push_back({.input = 0,
                     .begin = images.begin * pixels * channels + c,
                     .length = range.size(),
                     .stride = channels,
                     .repeat = pixels});
  } else {
    NeedRows(needs, 0, images, pixels * channels);
  }
  return needs;
}

std::vector<InputRange> NeedsGlobalGrad(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  const Shape& x = op.out[0].shape;
  const std::int64_t channels = x[3];
  const Range images = RowsOf(range, x[1] * x[2] * channels);
  if (images.size() == 1) {
    for (const Range& c : ColumnsOf(range, channels)) {
      NeedRange(needs, 0, {images.begin * channels + c.begin, images.begin * channels + c.end});
    }
  } else {
    NeedRows(needs, 0, images, channels);
  }
  return needs;
}

Cost PoolCost(const OpInstance& op) {
  const auto taps = static_cast<double>(op.attrs.Int(0) * op.attrs.Int(1));
  return {.flops = taps * static_cast<double>(op.out[0].elements()), .bytes = TouchedBytes(op)};
}

struct PoolCase {
  const char* name;
  Shape x;
  std::int64_t kernel_h, kernel_w, stride, pad;
  Fill fill = Fill::kNormal;
  bool gradient = false;
};

std::vector<PoolCase> PoolCases() {
  return {{"small", {2, 4, 4, 3}, 2, 2, 2, 0, Fill::kNormal, true},
          {"overlap", {1, 5, 6, 2}, 3, 3, 1, 1, Fill::kNormal, true},
          {"resnet_stem", {2, 16, 16, 64}, 3, 3, 2, 1},
          {"one_channel", {3, 9, 7, 1}, 3, 2, 2, 1},
          {"c31", {1, 7, 7, 31}, 3, 3, 2, 1},
          {"c33", {1, 7, 7, 33}, 2, 3, 2, 1},
          {"c100", {2, 6, 5, 100}, 2, 2, 1, 0},
          {"gaps", {2, 9, 9, 5}, 2, 2, 3, 0},
          {"rows_left_over", {1, 8, 8, 4}, 3, 3, 3, 0},
          {"one_window", {2, 5, 5, 7}, 5, 5, 1, 0},
          {"wide_pad", {1, 3, 3, 4}, 4, 4, 1, 3},
          {"no_images", {0, 4, 4, 3}, 2, 2, 2, 0},
          {"no_channels", {2, 4, 4, 0}, 2, 2, 2, 0},
          {"special", {2, 9, 9, 11}, 3, 3, 2, 1, Fill::kSpecial}};
}

Attrs WindowOf(const PoolCase& c) { return {c.kernel_h, c.kernel_w, c.stride, c.pad}; }

std::vector<OpCase> ForwardCases() {
  std::vector<OpCase> cases;
  for (const PoolCase& c : PoolCases()) {
    cases.push_back({.name = c.name, .attrs = WindowOf(c), .in = {F32(c.x)}, .fill = {c.fill}, .gradient = c.gradient});
  }
  return cases;
}

std::vector<OpCase> GradCases(bool argmax) {
  std::vector<OpCase> cases;
  for (const PoolCase& c : PoolCases()) {
    const Shape pooled = Pooled(WindowOf(c), c.x).value();
    cases.push_back({.name = c.name, .attrs = WithImage(WindowOf(c), c.x), .in = {F32(pooled)}, .fill = {c.fill}});
    if (!argmax) continue;
    cases.back().in.push_back(I32(pooled));
    cases.back().fill.push_back(c.fill == Fill::kSpecial ? Fill::kTarget : Fill::kIndex);
    cases.back().index_limit = c.x[1] * c.x[2];
  }
  return cases;
}

std::vector<OpCase> GlobalCases() {
  return {{.name = "small", .in = {F32({2, 3, 3, 4})}, .fill = {Fill::kNormal}, .gradient = true},
          {.name = "resnet", .in = {F32({3, 4, 4, 512})}, .fill = {Fill::kNormal}},
          {.name = "blocks", .in = {F32({2, 65, 66, 33})}, .fill = {Fill::kNormal}},
          {.name = "one_channel", .in = {F32({4, 7, 7, 1})}, .fill = {Fill::kNormal}},
          {.name = "no_images", .in = {F32({0, 2, 2, 5})}, .fill = {Fill::kNormal}},
          {.name = "special", .in = {F32({5, 9, 9, 19})}, .fill = {Fill::kSpecial}}};
}

std::vector<OpCase> GlobalGradCases() {
  std::vector<OpCase> cases = GlobalCases();
  for (OpCase& c : cases) {
    const Shape x = c.in[0].shape;
    c.attrs = WithImage({}, x);
    c.in = {F32({x[0], x[3]})};
    c.gradient = false;
  }
  return cases;
}

}  // namespace

OpDef Define_max_pool2d() {
  return {.attrs = kWindow,
          .infer = InferMaxPool,
          .gradient = GradientMaxPool,
          .cost = PoolCost,
          .dependencies = NeedsPool,
          .cases = ForwardCases};
}

OpDef Define_max_pool2d_grad() {
  return {.attrs = kWindowAndImage, .infer = InferMaxPoolGrad, .cost = PoolCost, .dependencies = NeedsPoolGrad, .cases = [] {
            return GradCases(true);
          }};
}

OpDef Define_avg_pool2d() {
  return {.attrs = kWindow,
          .infer = InferAvgPool,
          .gradient = GradientAvgPool,
          .cost = PoolCost,
          .dependencies = NeedsPool,
          .cases = ForwardCases};
}

OpDef Define_avg_pool2d_grad() {
  return {.attrs = kWindowAndImage, .infer = InferAvgPoolGrad, .cost = PoolCost, .dependencies = NeedsPoolGrad, .cases = [] {
            return GradCases(false);
          }};
}

OpDef Define_global_avg_pool() {
  return {.infer = InferGlobal,
          .gradient = GradientGlobal,
          .cost = [](const OpInstance& op) { return PerElement(op, 1); },
          .dependencies = NeedsGlobal,
          .cases = GlobalCases};
}

OpDef Define_global_avg_pool_grad() {
  return {.attrs = kImage,
          .infer = InferGlobalGrad,
          .cost = [](const OpInstance& op) { return PerElement(op, 1); },
          .dependencies = NeedsGlobalGrad,
          .cases = GlobalGradCases};
}

}  // namespace assay::ops
