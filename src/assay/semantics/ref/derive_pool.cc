// max_pool2d avg_pool2d global_avg_pool, and the gradients of the first two: chains over the taps of a window, or over the windows of a pixel.
#include "assay/ops/pool_geometry.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_state.h"
#include "assay/semantics/ref/derive_sums.h"
#include "assay/semantics/ref/derive_terms.h"
#include "assay/semantics/ref/pixels.h"

namespace assay::ref::derive {
namespace {

// Each in a leaf of its own, or two where the argmax is read too.
constexpr std::int64_t kTapsAtOnce = 16;

// A rectangle of one channel of one of `shape`'s images, row by row.
struct Rectangle {
  Shape shape;
  std::int64_t image, channel;
  Range rows, cols;

  std::int64_t size() const { return std::max<std::int64_t>(rows.size(), 0) * std::max<std::int64_t>(cols.size(), 0); }
  Pixel PixelAt(std::int64_t i) const { return {image, rows.begin + i / cols.size(), cols.begin + i % cols.size(), channel}; }
  std::int64_t At(std::int64_t i) const { return IndexOf(PixelAt(i), shape); }
};

Rectangle TapsOf(const OpInstance& op, std::int64_t element) {
  const ops::PoolGeometry g = ops::PoolGeometryOf(op.attrs, op.in[0].shape, op.out[0].shape);
  const Pixel window = PixelOf(element, op.out[0].shape);
  return {op.in[0].shape, window.n, window.c, g.h.Pixels({window.h, window.h + 1}), g.w.Pixels({window.w, window.w + 1})};
}

Rectangle WindowsOf(const OpInstance& op, std::int64_t element) {
  const ops::PoolGeometry g = ops::PoolGeometryOf(op.attrs, op.out[0].shape, op.in[0].shape);
  const Pixel pixel = PixelOf(element, op.out[0].shape);
  return {op.in[0].shape, pixel.n, pixel.c, g.h.Windows({pixel.h, pixel.h + 1}), g.w.Windows({pixel.w, pixel.w + 1})};
}

struct RectangleSum {
  Rectangle x;
  void Need(Range steps, NeedList& needs) const {
    for (std::int64_t i = steps.begin; i < steps.end; ++i) needs.Add(0, x.At(i));
  }
  float Step(float acc, std::int64_t i, Inputs in) const { return acc + in.Floats(0)[x.At(i)]; }
};

// Over windows whose argmax is `pixel`.
struct ChosenSum {
  Rectangle windows;
  std::int64_t pixel;
  void Need(Range steps, NeedList& needs) const {
    for (std::int64_t i = steps.begin; i < steps.end; ++i) {
      needs.Add(0, windows.At(i));
      needs.Add(1, windows.At(i));
    }
  }
  float Step(float acc, std::int64_t i, Inputs in) const {
    return in.Ints(1)[windows.At(i)] == pixel ? acc + in.Floats(0)[windows.At(i)] : acc;
  }
};

// The greatest tap, and which one it is. Tap 0 is taken whatever came before.
struct Greatest {
  Rectangle taps;

  struct Best {
    float value;
    std::int64_t tap;
  };
  Best Run(Best best, Range steps, Inputs in) const {
    for (std::int64_t i = steps.begin; i < steps.end; ++i) {
      const float v = in.Floats(0)[taps.At(i)];
      if (i > 0 && !(v > best.value || (v != v && best.value == best.value))) continue;
      best = {v, i};
    }
    return best;
  }
  void Need(Range steps, NeedList& needs) const { RectangleSum{taps}.Need(steps, needs); }
  Value Run(Value start, Range steps, Inputs in) const { return Bits(Run(Best{Float(start), 0}, steps, in).value); }
};

// The number of the pixel that the greatest tap so far is.
struct Argmax {
  Greatest greatest;
  Value best;  // before these steps

  void Need(Range steps, NeedList& needs) const { greatest.Need(steps, needs); }
  Value Run(Value start, Range steps, Inputs in) const {
    const Greatest::Best found = greatest.Run({Float(best), -1}, steps, in);
    if (found.tap < 0) return start;
    const Pixel p = greatest.taps.PixelAt(found.tap);
    return static_cast<Value>(p.h * greatest.taps.shape[2] + p.w);
  }
};

// The greatest tap and its number after each 16 taps.
class ArgmaxSteps final : public Recurrence {
 public:
  explicit ArgmaxSteps(const Greatest& greatest) : greatest_(greatest) {}
  std::uint32_t Uses(std::size_t component) const override { return component == 0 ? 0b01 : 0b11; }
  NodePtr Block(std::size_t component, std::int64_t block, const State& before, const State&) const override {
    const Range steps{block * kTapsAtOnce, std::min((block + 1) * kTapsAtOnce, greatest_.taps.size())};
    if (component == 0) return MakeFold(greatest_, before[0], steps, kTapsAtOnce);
    return MakeFold(Argmax{greatest_, before[0]}, before[1], steps, kTapsAtOnce);
  }

 private:
  Greatest greatest_;
};

NodePtr DivideBy(NodePtr sum, float count) {
  return std::make_unique<Finish>(std::move(sum), std::vector<InputRange>{},
                                  [=](Value value, Inputs) { return Bits(Float(value) / count); });
}

float WindowOf(const OpInstance& op) { return static_cast<float>(op.attrs.Int(0) * op.attrs.Int(1)); }

}  // namespace

NodePtr Derive_max_pool2d(const OpInstance& op, int output, std::int64_t element) {
  const Greatest greatest{TapsOf(op, element)};
  if (output == 0) return MakeFold(greatest, 0, {0, greatest.taps.size()}, kTapsAtOnce);
  return std::make_unique<StateNode>(std::make_shared<ArgmaxSteps>(greatest), 0b11,
                                     Range{0, CeilDiv(greatest.taps.size(), kTapsAtOnce)}, State{},
                                     [](const State& last) { return last[1]; });
}

NodePtr Derive_max_pool2d_grad(const OpInstance& op, int, std::int64_t element) {
  const Pixel p = PixelOf(element, op.out[0].shape);
  const Rectangle windows = WindowsOf(op, element);
  return MakeFold(Chain<ChosenSum>{{windows, p.h * op.out[0].shape[2] + p.w}}, Bits(0.0f), {0, windows.size()}, kTapsAtOnce);
}

NodePtr Derive_avg_pool2d(const OpInstance& op, int, std::int64_t element) {
  const Rectangle taps = TapsOf(op, element);
  return DivideBy(MakeFold(Chain<RectangleSum>{{taps}}, Bits(0.0f), {0, taps.size()}, kTapsAtOnce), WindowOf(op));
}

NodePtr Derive_avg_pool2d_grad(const OpInstance& op, int, std::int64_t element) {
  const Rectangle windows = WindowsOf(op, element);
  return DivideBy(MakeFold(Chain<RectangleSum>{{windows}}, Bits(0.0f), {0, windows.size()}, kTapsAtOnce), WindowOf(op));
}

NodePtr Derive_global_avg_pool(const OpInstance& op, int, std::int64_t element) {
  const Shape& shape = op.in[0].shape;
  const std::int64_t pixels = shape[1] * shape[2], channels = shape[3];
  const Places x{.first = element / channels * pixels * channels + element % channels, .stride = channels};
  return DivideBy(MakeColSum(PlainSum{x}, pixels), static_cast<float>(pixels));
}

}  // namespace assay::ref::derive
