// matmul: contract(K) for each element, on the tiled core. How an operand lies decides how it is loaded.
#include <algorithm>
#include <cstdint>

#include "assay/backend/cuda/digit_ops.h"
#include "assay/backend/cuda/gemm_launch-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/ops/digits.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::cuda {
namespace {

using gemm::AlongK;
using gemm::AlongRows;
using MatmulOperands = gemm::Operands<gemm::Matrix, gemm::Matrix, gemm::PlainRows>;

// Offsets inside a tile have 32 bits: its rows along k may span this many elements, and rows that lie further apart than the
// second number are copied one by one.
constexpr std::int64_t kSpan = std::int64_t{1} << 30;
constexpr std::int64_t kFar = std::int64_t{1} << 27;

bool CopiesQuads(const gemm::Matrix& x) { return x.ld % 4 == 0 && x.ld < kFar; }

// A block of the smallest tile copies the values of one k at a time, so that ld does not enter its offsets.
unsigned TilesFor(const MatmulOperands& operands) {
  return std::max(operands.a.ld, operands.b.ld) < kSpan / 2 ? gemm::kAllTiles : 0b01000;
}

// Calls `use` with the kinds of the operands, by how they lie.
template <class Use>
void WithKinds(bool a_along_k, bool b_along_k, const MatmulOperands& operands, const Use& use) {
  const auto with_a = [&]<class A>() {
    if (b_along_k) {
      use.template operator()<A, AlongK>();
    } else if (CopiesQuads(operands.b)) {
      use.template operator()<A, AlongRows<4>>();
    } else {
      use.template operator()<A, AlongRows<1>>();
    }
  };
  if (a_along_k) {
    with_a.template operator()<AlongK>();
  } else if (CopiesQuads(operands.a)) {
    with_a.template operator()<AlongRows<4>>();
  } else {
    with_a.template operator()<AlongRows<1>>();
  }
}

// Rows for one launch: all of them, except where the rows of one tile would span too much.
std::int64_t RowsAtOnce(bool along_k, std::int64_t rows, std::int64_t k) {
  return along_k && k > 0 && std::min<std::int64_t>(rows, 128) * k > kSpan ? std::max<std::int64_t>(1, kSpan / k) : rows;
}

// One launch's part of a product.
struct Piece {
  gemm::Extents extents;
  MatmulOperands operands;
};

// How far a launch reaches. Steps of the batch are multiples of four, so that outputs stay aligned.
gemm::Extents StepsOf(const ops::MatmulGeometry& g) {
  const std::int64_t tiles = gemm::CeilDiv(g.m, 64) * gemm::CeilDiv(g.n, 64);
  return {4 * std::max<std::int64_t>(1, (std::int64_t{1} << 22) / tiles), RowsAtOnce(!g.transpose_a, g.m, g.k),
          RowsAtOnce(g.transpose_b, g.n, g.k), g.k};
}

Piece PieceAt(const ops::MatmulGeometry& g, std::int64_t p, std::int64_t m, std::int64_t n, const float* a, const float* b,
              float* out) {
  const gemm::Extents steps = StepsOf(g);
  const gemm::Extents extents{std::min(steps.batch, g.batch - p), std::min(steps.m, g.m - m), std::min(steps.n, g.n - n), g.k};
  return {extents,
          {.a = {a + p * g.a_batch + m * g.a_row, extents.m, g.transpose_a ? g.a_col : g.a_row, g.a_batch},
           .b = {b + p * g.b_batch + n * g.b_col, extents.n, g.transpose_b ? g.b_col : g.b_row, g.b_batch},
           .rows = {g.n, g.m * g.n},
           .out = out + (p * g.m + m) * g.n + n,
           .vector_out = g.n % 4 == 0 && n % 4 == 0 && extents.n % 4 == 0}};
}

}  // namespace

void gemm::Product(const ops::MatmulGeometry& g, const float* a, const float* b, float* out, Context& context) {
  if (g.batch == 0 || g.m == 0 || g.n == 0) return;
  const Extents steps = StepsOf(g);
  for (std::int64_t p = 0; p < g.batch; p += steps.batch) {
    for (std::int64_t m = 0; m < g.m; m += steps.m) {
      for (std::int64_t n = 0; n < g.n; n += steps.n) {
        const Piece piece = PieceAt(g, p, m, n, a, b, out);
        WithKinds(!g.transpose_a, g.transpose_b, piece.operands, [&]<class A, class B>() {
          gemm::Launch<A, B>(piece.operands, piece.extents, context, TilesFor(piece.operands));
        });
      }
    }
  }
}

gemm::Choice gemm::ChoiceFor(const ops::MatmulGeometry& g, const Context& context) {
  const Piece piece = PieceAt(g, 0, 0, 0, nullptr, nullptr, nullptr);
  Choice choice;
  WithKinds(!g.transpose_a, g.transpose_b, piece.operands,
            [&]<class A, class B>() { choice = ChooseFor<A, B>(piece.extents, TilesFor(piece.operands), context); });
  return choice;
}

void Run_matmul(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return digits::Matmul(args, context);
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  gemm::Product(g, args.In<float>(0), args.In<float>(1), args.Out<float>(0), context);
}

}  // namespace assay::cuda
