// matmul: contract(K) for each element, on the tiled core. How an operand lies decides how it is loaded.
#include <algorithm>
#include <cstdint>

#include "assay/backend/cuda/gemm_launch-inl.h"
#include "assay/backend/cuda/kernels.h"
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

// With A loaded as `A`, by how B lies.
template <class A>
void LaunchWith(bool b_along_k, const MatmulOperands& operands, const gemm::Extents& extents, Context& context) {
  const unsigned tiles = TilesFor(operands);
  if (b_along_k) {
    gemm::Launch<A, AlongK>(operands, extents, context, tiles);
  } else if (CopiesQuads(operands.b)) {
    gemm::Launch<A, AlongRows<4>>(operands, extents, context, tiles);
  } else {
    gemm::Launch<A, AlongRows<1>>(operands, extents, context, tiles);
  }
}

void LaunchAny(bool a_along_k, bool b_along_k, const MatmulOperands& operands, const gemm::Extents& extents, Context& context) {
  if (a_along_k) {
    LaunchWith<AlongK>(b_along_k, operands, extents, context);
  } else if (CopiesQuads(operands.a)) {
    LaunchWith<AlongRows<4>>(b_along_k, operands, extents, context);
  } else {
    LaunchWith<AlongRows<1>>(b_along_k, operands, extents, context);
  }
}

// Rows for one launch: all of them, except where the rows of one tile would span too much.
std::int64_t RowsAtOnce(bool along_k, std::int64_t rows, std::int64_t k) {
  return along_k && k > 0 && std::min<std::int64_t>(rows, 128) * k > kSpan ? std::max<std::int64_t>(1, kSpan / k) : rows;
}

}  // namespace

void gemm::Product(const ops::MatmulGeometry& g, const float* a, const float* b, float* out, Context& context) {
  if (g.batch == 0 || g.m == 0 || g.n == 0) return;
  const std::int64_t step_m = RowsAtOnce(!g.transpose_a, g.m, g.k), step_n = RowsAtOnce(g.transpose_b, g.n, g.k);
  // A multiple of four, so that outputs stay aligned.
  const std::int64_t step_batch =
      4 * std::max<std::int64_t>(1, (std::int64_t{1} << 22) / (CeilDiv(g.m, 64) * CeilDiv(g.n, 64)));
  for (std::int64_t p = 0; p < g.batch; p += step_batch) {
    for (std::int64_t m = 0; m < g.m; m += step_m) {
      for (std::int64_t n = 0; n < g.n; n += step_n) {
        const gemm::Extents extents{std::min(step_batch, g.batch - p), std::min(step_m, g.m - m), std::min(step_n, g.n - n),
                                    g.k};
        const MatmulOperands operands{
            .a = {a + p * g.a_batch + m * g.a_row, extents.m, g.transpose_a ? g.a_col : g.a_row, g.a_batch},
            .b = {b + p * g.b_batch + n * g.b_col, extents.n, g.transpose_b ? g.b_col : g.b_row, g.b_batch},
            .rows = {g.n, g.m * g.n},
            .out = out + (p * g.m + m) * g.n + n,
            .vector_out = g.n % 4 == 0 && n % 4 == 0 && extents.n % 4 == 0};
        LaunchAny(!g.transpose_a, g.transpose_b, operands, extents, context);
      }
    }
  }
}

void Run_matmul(const KernelArgs& args, Context& context) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  gemm::Product(g, args.In<float>(0), args.In<float>(1), args.Out<float>(0), context);
}

}  // namespace assay::cuda
