// matmul: operands widened as they lie, one product for each matrix of the batch.
#include <algorithm>

#include "assay/backend/cublas/contraction.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::cublas {
namespace {

struct Workspace {
  Workspace(Cutter cut, const Products& products, const KernelArgs& args, bool norms, bool bounded)
      : a(cut.Take<double>(args.in_type(0).elements())),
        b(cut.Take<double>(args.in_type(1).elements())),
        norms_a(cut.Take<double>(norms ? products.batch * products.m : 0)),
        norms_b(cut.Take<double>(norms ? products.batch * products.n : 0)),
        squares(cut.Take<double>(norms ? ScratchOfNorms(products.batch, std::max(products.m, products.n)) : 0)),
        rest(cut.Take<char>(static_cast<std::int64_t>(ScratchOfProducts<double>(products, bounded)))),
        bytes(cut.used()) {}
  double *a, *b, *norms_a, *norms_b, *squares;
  char* rest;
  std::size_t bytes;
};

}  // namespace

void Run_matmul(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  // Of the matrices of a batch that share b, the rows are those of one matrix.
  const bool merged = g.b_batch == 0 && !g.transpose_a && g.a_batch != 0;
  Products products{.batch = merged ? 1 : g.batch, .m = merged ? g.batch * g.m : g.m, .n = g.n, .k = g.k, .row_stride = g.n};
  const auto run = [&]<class T>(const T* a, const T* b, void* scratch) {
    RunProducts<T>(products, {a, g.transpose_a ? g.a_col : g.a_row, !g.transpose_a, g.a_batch},
                   {b, g.transpose_b ? g.b_col : g.b_row, g.transpose_b, g.b_batch}, sinks[0], scratch, context);
  };
  if (context.single()) {
    return run(args.In<float>(0), args.In<float>(1), context.Scratch(ScratchOfProducts<float>(products, false)));
  }
  const bool bounded = sinks[0].bounded();
  // Norms are taken while operands are widened, unless a batch shares one of them.
  const bool norms = bounded && (products.batch == 1 || (g.a_batch != 0 && g.b_batch != 0));
  const Workspace work(Cutter(context.Scratch(Workspace(Cutter(), products, args, norms, bounded).bytes)), products, args,
                       norms, bounded);
  if (norms) {
    WidenWithNorms({args.In<float>(0), products.batch, products.m, products.k, !g.transpose_a}, work.a, work.squares,
                   work.norms_a, context.stream());
    WidenWithNorms({args.In<float>(1), products.batch, products.n, products.k, g.transpose_b}, work.b, work.squares,
                   work.norms_b, context.stream());
    products.norms_a = work.norms_a;
    products.norms_b = work.norms_b;
  } else {
    Widen(args.In<float>(0), args.in_type(0).elements(), work.a, context.stream());
    Widen(args.In<float>(1), args.in_type(1).elements(), work.b, context.stream());
  }
  run(work.a, work.b, work.rest);
}

}  // namespace assay::cublas
