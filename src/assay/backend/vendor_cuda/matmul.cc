// matmul: operands widened as they lie, one product for each matrix of the batch.
#include "assay/backend/vendor_cuda/contraction.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::vendor_cuda {

void Run_matmul(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  // Of the matrices of a batch that share b, the rows are those of one matrix.
  const bool merged = g.b_batch == 0 && !g.transpose_a && g.a_batch != 0;
  const Products products{
      .batch = merged ? 1 : g.batch, .m = merged ? g.batch * g.m : g.m, .n = g.n, .k = g.k, .row_stride = g.n};
  const auto run = [&]<class T>(const T* a, const T* b, void* scratch) {
    RunProducts<T>(products, {a, g.transpose_a ? g.a_col : g.a_row, !g.transpose_a, g.a_batch},
                   {b, g.transpose_b ? g.b_col : g.b_row, g.transpose_b, g.b_batch}, sinks[0], scratch, context);
  };
  if (context.single()) {
    return run(args.In<float>(0), args.In<float>(1), context.Scratch(ScratchOfProducts<float>(products, false)));
  }
  const std::int64_t size_a = args.in_type(0).elements(), size_b = args.in_type(1).elements();
  const std::size_t own = ScratchOfProducts<double>(products, sinks[0].bounded());
  Cutter count;
  count.Take<double>(size_a), count.Take<double>(size_b);
  Cutter cut(context.Scratch(count.used() + own));
  double *a = cut.Take<double>(size_a), *b = cut.Take<double>(size_b);
  Widen(args.In<float>(0), size_a, a, context.stream());
  Widen(args.In<float>(1), size_b, b, context.stream());
  run(a, b, cut.Take<char>(static_cast<std::int64_t>(own)));
}

}  // namespace assay::vendor_cuda
