// sum_squares: blocks of 128 squares, blocks of 128 such sums, and so on; the threads share the blocks of blocks.
#include <algorithm>
#include <vector>

#include "assay/backend/openblas/context.h"
#include "assay/numerics/bounded.h"

namespace assay::rounded {

void Run_sum_squares(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  constexpr std::int64_t kPiece = 128 * 128;
  const float* x = args.In<float>(0);
  const std::int64_t n = args.in_type(0).elements(), pieces = (n + kPiece - 1) / kPiece;
  std::vector<double> sums(static_cast<std::size_t>(pieces));
  context.pool().ParallelFor(pieces, 4, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t p = begin; p < end; ++p) {
      const float* from = x + p * kPiece;
      sums[static_cast<std::size_t>(p)] = numerics::Sum<double>(
          std::min(kPiece, n - p * kPiece), [&](std::int64_t i) { return double{from[i]} * double{from[i]}; });
    }
  });
  double y = numerics::Sum<double>(pieces, [&](std::int64_t p) { return sums[static_cast<std::size_t>(p)]; });
  // Squares of binary32 values are exact and none is negative.
  const double e = numerics::SumDepth(n) * numerics::kUnit * y;
  outputs[0].Put(&y, outputs[0].WantsBounds(0, 1) ? &e : nullptr, 1, 0);
}

}  // namespace assay::rounded
