// matmul: shape rule, gradient, dependencies, cases.
#include <fmt/format.h>

#include "assay/ops/define.h"
#include "assay/ops/digits.h"
#include "assay/ops/infer.h"
#include "assay/ops/matmul_geometry.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kAttrs[] = {{"transpose_a", AttrKind::kInt}, {"transpose_b", AttrKind::kInt}, kDigits};

Result<std::vector<TensorType>> Infer(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 2));
  ASSAY_TRY(ExpectF32(in, 0));
  ASSAY_TRY(ExpectF32(in, 1));
  ASSAY_TRY(ExpectFlag("transpose_a", attrs.Int(0)));
  ASSAY_TRY(ExpectFlag("transpose_b", attrs.Int(1)));
  ASSAY_TRY(ExpectDigits(attrs, 2));
  const Shape& a = in[0].shape;
  const Shape& b = in[1].shape;
  if (a.rank() < 2 || b.rank() < 2) {
    return Err("expected matrices, got {} and {}", ToString(in[0]), ToString(in[1]));
  }
  const bool equal_outer = a.rank() == b.rank() && std::equal(a.dims().begin(), a.dims().end() - 2, b.dims().begin());
  if (!equal_outer && a.rank() != 2 && b.rank() != 2) {
    return Err("expected equal leading axes or a shared matrix, got {} and {}", ToString(in[0]), ToString(in[1]));
  }
  const MatmulGeometry g = GeometryOfMatmul(attrs, a, b);
  if (b.Back(g.transpose_b ? 0 : 1) != g.k) {
    return Err("expected equal inner extents, got {} and {}", ToString(in[0]), ToString(in[1]));
  }
  Shape out = a.rank() >= b.rank() ? a : b;
  out.Set(out.rank() - 2, g.m);
  out.Set(out.rank() - 1, g.n);
  return OutputsF32({out});
}

std::vector<std::int64_t> Dims(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

// x as one matrix [leading · rows, columns], after exchanging its last two axes if `swap`.
ValueId Flatten(GradientBuilder& g, ValueId x, bool swap) {
  if (swap) {
    const int rank = g.type(x).shape.rank();
    std::vector<std::int64_t> perm;
    for (int axis = 0; axis < rank; ++axis) perm.push_back(axis);
    std::swap(perm[static_cast<std::size_t>(rank) - 2], perm[static_cast<std::size_t>(rank) - 1]);
    x = g.Emit(op::transpose, {perm}, {x});
  }
  const Shape shape = g.type(x).shape;
  if (shape.rank() == 2) return x;
  const std::int64_t columns = shape.Back(0);
  return g.Emit(op::reshape, {std::vector<std::int64_t>{shape.Product(0, shape.rank() - 1), columns}}, {x});
}

// With as many digits as the product whose gradient is built.
ValueId Product(GradientBuilder& g, ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
  const int digits = DigitsOf(g.def(), g.attrs());
  return g.Emit(op::matmul, WithDigits({std::int64_t{transpose_a}, std::int64_t{transpose_b}}, digits), {a, b});
}

// A shared operand's gradient is one contraction over all rows of all matrices, because a sum of products would need a reduction of its own.
void Gradient(GradientBuilder& g) {
  const ValueId a = g.input(0);
  const ValueId b = g.input(1);
  const ValueId dy = g.OutputGradientOrZero(0);
  const bool ta = g.attrs().Int(0) != 0;
  const bool tb = g.attrs().Int(1) != 0;
  const Shape a_shape = g.type(a).shape;
  const Shape b_shape = g.type(b).shape;
  const bool shared_a = a_shape.rank() < b_shape.rank();
  const bool shared_b = b_shape.rank() < a_shape.rank();
  if (g.Wants(0)) {
    if (shared_a) {
      const ValueId dy_rows = Flatten(g, dy, true);
      const ValueId b_rows = Flatten(g, b, !tb);
      g.SetInputGradient(0, ta ? Product(g, b_rows, dy_rows, true, false) : Product(g, dy_rows, b_rows, true, false));
    } else if (shared_b && !ta) {
      const ValueId rows = Product(g, Flatten(g, dy, false), b, false, !tb);
      g.SetInputGradient(0, g.Emit(op::reshape, {Dims(a_shape)}, {rows}));
    } else {
      g.SetInputGradient(0, ta ? Product(g, b, dy, tb, true) : Product(g, dy, b, false, !tb));
    }
  }
  if (g.Wants(1)) {
    if (shared_b) {
      const ValueId a_rows = Flatten(g, a, ta);
      const ValueId dy_rows = Flatten(g, dy, false);
      g.SetInputGradient(1, tb ? Product(g, dy_rows, a_rows, true, false) : Product(g, a_rows, dy_rows, true, false));
    } else {
      g.SetInputGradient(1, tb ? Product(g, dy, a, true, ta) : Product(g, a, dy, !ta, false));
    }
  }
}

Cost CostOf(const OpInstance& op) {
  const MatmulGeometry g = GeometryOfMatmul(op.attrs, op.in[0].shape, op.in[1].shape);
  return {.flops = 2.0 * static_cast<double>(op.out[0].elements()) * static_cast<double>(g.k), .bytes = TouchedBytes(op)};
}

// Rows [first, last) of a matrix of `rows` x `columns` that starts at `base`, or as many columns of its transposed storage.
InputRange Lines(int input, std::int64_t base, Range lines, std::int64_t line_length, std::int64_t line_count,
                 bool contiguous) {
  if (contiguous) {
    const std::int64_t n = lines.size() * line_length;
    return {.input = input, .begin = base + lines.begin * line_length, .length = n, .stride = n, .repeat = 1};
  }
  return {.input = input, .begin = base + lines.begin, .length = lines.size(), .stride = line_count, .repeat = line_length};
}

std::vector<InputRange> Dependencies(const OpInstance& op, int, Range range) {
  const MatmulGeometry g = GeometryOfMatmul(op.attrs, op.in[0].shape, op.in[1].shape);
  std::vector<InputRange> needed;
  if (range.size() <= 0 || g.k == 0) return needed;
  const std::int64_t matrix = g.m * g.n;
  const std::int64_t last_batch = (range.end - 1) / matrix;
  for (std::int64_t p = range.begin / matrix; p <= last_batch; ++p) {
    const std::int64_t begin = std::max(range.begin - p * matrix, std::int64_t{0});
    const std::int64_t end = std::min(range.end - p * matrix, matrix);
    const Range rows{begin / g.n, (end - 1) / g.n + 1};
    needed.push_back(Lines(0, p * g.a_batch, rows, g.k, g.m, !g.transpose_a));
    const std::int64_t first = begin % g.n;
    const std::int64_t last = (end - 1) % g.n + 1;
    const std::int64_t b_base = p * g.b_batch;
    if (rows.size() == 1) {
      needed.push_back(Lines(1, b_base, {first, last}, g.k, g.n, g.transpose_b));
    } else if (rows.size() == 2 && last <= first) {
      needed.push_back(Lines(1, b_base, {0, last}, g.k, g.n, g.transpose_b));
      needed.push_back(Lines(1, b_base, {first, g.n}, g.k, g.n, g.transpose_b));
    } else {
      needed.push_back(Lines(1, b_base, {0, g.n}, g.k, g.n, g.transpose_b));
    }
  }
  return needed;
}

enum class Sharing { kNone, kA, kB };

OpCase Case(std::vector<std::int64_t> outer, std::int64_t m, std::int64_t n, std::int64_t k, int ta, int tb, Sharing sharing,
            Fill fill, bool gradient, int digits) {
  Shape a{outer};
  Shape b{outer};
  if (sharing == Sharing::kA) a = Shape{};
  if (sharing == Sharing::kB) b = Shape{};
  a.Append(ta ? k : m);
  a.Append(ta ? m : k);
  b.Append(tb ? n : k);
  b.Append(tb ? k : n);
  const char* shared = sharing == Sharing::kA ? "_shared_a" : sharing == Sharing::kB ? "_shared_b" : "";
  return {.name = fmt::format("{}b{}_{}x{}x{}_{}{}{}", gradient ? "grad_" : "", Shape{outer}.elements(), m, n, k,
                              ta ? 't' : 'n', tb ? 't' : 'n', shared) +
                  (fill == Fill::kSpecial ? "_special"
                   : fill == Fill::kRuns  ? "_runs"
                                          : "") +
                  (digits == 0 ? "" : fmt::format("_digits{}", digits)),
          .attrs = WithDigits({std::int64_t{ta}, std::int64_t{tb}}, digits),
          .in = {{DType::kF32, a}, {DType::kF32, b}},
          .fill = {fill, fill},
          .gradient = gradient};
}

std::vector<OpCase> Cases() {
  std::vector<OpCase> cases;
  for (int ta = 0; ta < 2; ++ta) {
    for (int tb = 0; tb < 2; ++tb) {
      const auto add = [&](std::vector<std::int64_t> outer, std::int64_t m, std::int64_t n, std::int64_t k,
                           Sharing sharing = Sharing::kNone, Fill fill = Fill::kNormal, bool gradient = false, int digits = 0) {
        cases.push_back(Case(std::move(outer), m, n, k, ta, tb, sharing, fill, gradient, digits));
      };
      add({}, 1, 1, 1);
      add({}, 3, 5, 0);
      add({}, 0, 5, 3);
      add({}, 1, 33, 7);
      add({}, 7, 1, 65);
      add({}, 17, 19, 23);
      add({}, 6, 16, 255);
      add({}, 13, 47, 256);
      add({}, 14, 32, 257);
      add({}, 65, 70, 300);
      add({}, 31, 97, 513);
      add({}, 130, 129, 1025);
      add({}, 9, 40, 270, Sharing::kNone, Fill::kSpecial);
      add({2, 3}, 5, 18, 33);
      add({4}, 33, 17, 259);
      add({3}, 11, 35, 64, Sharing::kA);
      add({2, 2}, 9, 21, 260, Sharing::kB);
      add({}, 3, 4, 5, Sharing::kNone, Fill::kNormal, true);
      add({2}, 3, 2, 4, Sharing::kNone, Fill::kNormal, true);
      add({2, 2}, 2, 3, 4, Sharing::kA, Fill::kNormal, true);
      add({3}, 2, 3, 4, Sharing::kB, Fill::kNormal, true);
      for (const int digits : {2, 3}) {
        const auto by_digits = [&](std::vector<std::int64_t> outer, std::int64_t m, std::int64_t n, std::int64_t k,
                                   Sharing sharing = Sharing::kNone, Fill fill = Fill::kNormal,
                                   bool gradient = false) { add(std::move(outer), m, n, k, sharing, fill, gradient, digits); };
        by_digits({}, 5, 7, 1);
        by_digits({}, 3, 5, 0);
        by_digits({}, 0, 5, 3);
        by_digits({}, 6, 16, 255);
        by_digits({}, 13, 47, 256);
        by_digits({}, 14, 32, 257);
        by_digits({}, 34, 41, 1025);
        by_digits({}, 130, 129, 513);
        by_digits({}, 9, 40, 270, Sharing::kNone, Fill::kSpecial);
        by_digits({}, 37, 43, 600, Sharing::kNone, Fill::kRuns);
        by_digits({2, 3}, 5, 18, 33);
        by_digits({3}, 11, 35, 64, Sharing::kA);
        by_digits({2, 2}, 9, 21, 260, Sharing::kB);
        by_digits({}, 3, 4, 5, Sharing::kNone, Fill::kNormal, true);
        by_digits({2, 2}, 2, 3, 4, Sharing::kA, Fill::kNormal, true);
        by_digits({3}, 2, 3, 4, Sharing::kB, Fill::kNormal, true);
        if (ta == 0 && tb == 1) by_digits({}, 2, 3, 100000);
      }
    }
  }
  return cases;
}

}  // namespace

OpDef Define_matmul() {
  OpDef def;
  def.attrs = kAttrs;
  def.infer = Infer;
  def.gradient = Gradient;
  def.cost = CostOf;
  def.dependencies = Dependencies;
  def.cases = Cases;
  return def;
}

}  // namespace assay::ops
