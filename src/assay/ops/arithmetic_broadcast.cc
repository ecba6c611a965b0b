// Rules of broadcast_to: numpy's, aligned at the last axis.
#include "assay/ops/builder.h"
#include "assay/ops/define.h"
#include "assay/ops/elementwise.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kShape[] = {{"shape", AttrKind::kInts}};

Result<std::vector<TensorType>> Infer(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(InferUnary({}, in));
  ASSAY_ASSIGN(const Shape out, ShapeFrom(attrs.Ints(0)));
  const Shape& from = in[0].shape;
  bool fits = from.rank() <= out.rank();
  for (int axis = 0; fits && axis < from.rank(); ++axis) fits = from.Back(axis) == 1 || from.Back(axis) == out.Back(axis);
  if (!fits) return Err("input 0: {} does not broadcast to {}", ToString(in[0]), ToString(out));
  return std::vector{F32(out)};
}

// The input's shape with leading ones, one extent for each axis of the output.
Shape Padded(const Shape& from, int rank) {
  Shape padded;
  for (int axis = from.rank(); axis < rank; ++axis) padded.Append(1);
  for (std::int64_t d : from.dims()) padded.Append(d);
  return padded;
}

// Up to the first axis where the range's ends differ the input's index is known; from there on the range covers one run of the input.
std::vector<InputRange> Needs(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  const Shape& out = op.out[0].shape;
  const Shape from = Padded(op.in[0].shape, out.rank());
  std::int64_t first = range.begin, last = range.end - 1, base = 0;
  for (int axis = 0; axis < out.rank(); ++axis) {
    const std::int64_t inner = out.Product(axis + 1, out.rank());
    const std::int64_t low = first / inner, high = last / inner;
    const std::int64_t step = from.Product(axis + 1, out.rank());
    const bool broadcast = from[axis] == 1;
    base += broadcast ? 0 : low * step;
    if (low != high) {
      NeedRange(needs, 0, {base, base + (broadcast ? 0 : (high - low) * step) + step});
      return needs;
    }
    first %= inner;
    last %= inner;
  }
  NeedRange(needs, 0, {base, base + 1});
  return needs;
}

// A run of axes that are all broadcast or all kept: [outer, run, inner] summed over the run where it is broadcast.
ValueId SumRun(OpBuilder& b, ValueId x, std::int64_t outer, std::int64_t run, std::int64_t inner) {
  if (inner == 1) return b.RowSum(b.Reshape(x, {outer, run}), 1);
  if (outer == 1) return b.ColSum(b.Reshape(x, {run, inner}), 1);
  // The run moves to the front, where a column sum takes it.
  return b.ColSum(b.Transpose(b.Reshape(x, {outer, run, inner}), {1, 0, 2}), 1);
}

// Sums over the broadcast axes, one run of neighbouring axes after the other, the last first.
void Gradient(GradientBuilder& g) {
  OpBuilder b(g.builder());
  ValueId dx = g.OutputGradientOrZero(0);
  const Shape input = g.type(g.input(0)).shape;
  const Shape out = g.type(g.output(0)).shape;
  const Shape from = Padded(input, out.rank());
  std::int64_t inner = 1;  // of the axes behind, already reduced
  for (int end = out.rank(); end > 0;) {
    const bool broadcast = from[end - 1] != out[end - 1];
    int begin = end - 1;
    while (begin > 0 && (from[begin - 1] != out[begin - 1]) == broadcast) --begin;
    if (broadcast) {
      dx = SumRun(b, dx, out.Product(0, begin), out.Product(begin, end), inner);
    } else {
      inner *= out.Product(begin, end);
    }
    end = begin;
  }
  if (b.shape(dx) != input) dx = b.Reshape(dx, input);
  g.SetInputGradient(0, dx);
}

std::vector<OpCase> Cases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, Shape from, std::vector<std::int64_t> to, bool gradient, Fill fill = Fill::kNormal) {
    cases.push_back(
        {.name = std::move(name), .attrs = {std::move(to)}, .in = {F32(from)}, .fill = {fill}, .gradient = gradient});
  };
  add("same", {3, 5}, {3, 5}, true);
  add("scalar", {}, {3, 5}, true);
  add("one", {1}, {1025}, false);
  add("scalar_to_scalar", {}, {}, false);
  add("rows", {5}, {3, 5}, true);
  add("columns", {3, 1}, {3, 5}, true);
  add("middle", {2, 1, 3}, {2, 4, 3}, true);
  add("outer_and_inner", {1, 3, 1}, {2, 3, 4}, true);
  add("alternating", {2, 1, 3, 1}, {2, 2, 3, 2}, true);
  add("new_axes", {3, 1, 2}, {2, 2, 3, 2, 2}, true);
  add("all_ones", {1, 1, 1}, {2, 3, 4}, true);
  add("rank8", {1, 2, 1, 2, 1, 2, 1, 2}, {2, 2, 2, 2, 2, 2, 2, 2}, false);
  add("empty", {0}, {7, 0}, false);
  add("empty_run", {1}, {3, 0}, false);
  add("special_rows", {37}, {40, 37}, false, Fill::kSpecial);
  add("special_columns", {40, 1}, {40, 37}, false, Fill::kSpecial);
  add("threads", {768}, {100, 768}, false);
  for (std::int64_t n : {1, 3, 15, 16, 17, 1023, 1025}) add(fmt::format("n{}", n), {n}, {5, n}, false);
  return cases;
}

}  // namespace

OpDef Define_broadcast_to() {
  return {.attrs = kShape, .infer = Infer, .gradient = Gradient, .cost = ElementCost<0>, .dependencies = Needs, .cases = Cases};
}

}  // namespace assay::ops
