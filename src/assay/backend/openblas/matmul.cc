// matmul: one contraction for each matrix of the batch.
#include <deque>
#include <memory>
#include <vector>

#include "assay/backend/openblas/contraction.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::rounded {

void Run_matmul(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  std::vector<std::unique_ptr<const Operand>> operands;
  const auto make = [&](bool k_adjacent, const float* base, std::int64_t stride) -> const Operand* {
    if (k_adjacent) {
      operands.push_back(std::make_unique<RowLines>(base, stride));
    } else {
      operands.push_back(std::make_unique<ColumnLines>(base, stride));
    }
    return operands.back().get();
  };
  // Of the matrices of a batch that share b, the rows are those of one matrix.
  const bool merged = g.b_batch == 0 && !g.transpose_a && g.a_batch != 0;
  const std::int64_t batch = merged ? 1 : g.batch, m = merged ? g.batch * g.m : g.m;
  std::vector<Contraction> tasks;
  for (std::int64_t p = 0; p < batch; ++p) {
    tasks.push_back({.m = m,
                     .n = g.n,
                     .k = g.k,
                     .a = make(!g.transpose_a, args.In<float>(0) + p * g.a_batch, g.transpose_a ? g.a_col : g.a_row),
                     .b = make(g.transpose_b, args.In<float>(1) + p * g.b_batch, g.transpose_b ? g.b_col : g.b_row),
                     .origin = p * m * g.n,
                     .row_stride = g.n});
  }
  RunContractions(tasks, outputs[0], context);
}

}  // namespace assay::rounded
