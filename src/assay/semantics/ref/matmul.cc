// matmul: contract(K) or digitsum for each element.
#include "assay/ops/digits.h"
#include "assay/ops/matmul_geometry.h"
#include "assay/semantics/ref/contract.h"
#include "assay/semantics/ref/digits.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

DigitLine LineOf(const float* x, std::int64_t stride, std::int64_t length, int digits) {
  DigitLine line(digits);
  AppendBlocks(line, length, [&](std::int64_t k) { return x[k * stride]; });
  return line;
}

float DigitSum(const DigitLine& a, const DigitLine& b, std::int64_t length) {
  float total = 0.0f;
  for (std::size_t block = 0; block < a.scales.size(); ++block) {
    const auto number = static_cast<std::int64_t>(block), at = number * numerics::kDigitBlock;
    const OrderSums sums = Multiply(a, at, b, at, DigitBlockSize(length, number));
    total = AddProduct(sums, a.digits, a.scales[block], b.scales[block], total);
  }
  return total;
}

void ByDigits(const KernelArgs& args, const ops::MatmulGeometry& g, int digits, Range range) {
  DigitLines a_lines, b_lines;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t p = i / (g.m * g.n);
    const std::int64_t a = p * g.a_batch + i / g.n % g.m * g.a_row, b = p * g.b_batch + i % g.n * g.b_col;
    const DigitLine& row = a_lines.At(a, [&] { return LineOf(args.In<float>(0) + a, g.a_col, g.k, digits); });
    const DigitLine& column = b_lines.At(b, [&] { return LineOf(args.In<float>(1) + b, g.b_row, g.k, digits); });
    args.Out<float>(0)[i] = DigitSum(row, column, g.k);
  }
}

}  // namespace

void Ref_matmul(const KernelArgs& args, int, Range range) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  if (const int digits = ops::DigitsOf(*args.op); digits != 0) return ByDigits(args, g, digits, range);
  float* out = args.Out<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t p = i / (g.m * g.n);
    const float* a = args.In<float>(0) + p * g.a_batch + i / g.n % g.m * g.a_row;
    const float* b = args.In<float>(1) + p * g.b_batch + i % g.n * g.b_col;
    Contraction sum;
    for (std::int64_t k = 0; k < g.k; ++k) sum.Add(a[k * g.a_col], b[k * g.b_row]);
    out[i] = sum.Total();
  }
}

}  // namespace assay::ref
