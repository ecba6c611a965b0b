// row_sum col_sum
#include "assay/backend/cublas/columns-inl.h"
#include "assay/backend/cublas/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cublas {
namespace {

template <class T>
struct RowSum {
  const float* x;
  std::int64_t n;
  Sink out;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const float* in = x + row * n;
    const T sum = team.template Sum<T>(n, [&](std::int64_t i) { return T(__ldg(in + i)); });
    if (team.leads()) out.Put(row, sum);
  }
};

template <class T>
struct ColumnSum {
  using Number = T;
  static constexpr int kSums = 1;
  struct Column {};
  const float* x;

  __device__ Column Prepare(std::int64_t) const { return {}; }
  __device__ void Add(Accumulator<T> (&sums)[1], const Column&, std::int64_t, std::int64_t i) const {
    sums[0].Add(T(__ldg(x + i)));
  }
};

template <class T>
struct PutSum {
  Sink out;
  __device__ void operator()(std::int64_t c, const T (&totals)[1]) const { out.Put(c, totals[0]); }
};

template <class T>
void RunRowSum(const KernelArgs& args, const Sink& out, Context& context) {
  const ops::MatrixView view = ops::SplitView(args.in_type(0), args.attrs().Int(0));
  LaunchRows(RowSum<T>{args.In<float>(0), view.cols, out}, view.rows, view.cols, context, "row_sum");
}

template <class T>
void RunColumnSum(const KernelArgs& args, const Sink& out, Context& context) {
  const ops::MatrixView view = ops::SplitView(args.in_type(0), args.attrs().Int(0));
  RunColumnSums(ColumnSum<T>{args.In<float>(0)}, PutSum<T>{out}, view.rows, view.cols, context, "col_sum");
}

}  // namespace

void Run_row_sum(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  sinks[0].bounded() ? RunRowSum<Near>(args, sinks[0], context) : RunRowSum<double>(args, sinks[0], context);
}

void Run_col_sum(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  sinks[0].bounded() ? RunColumnSum<Near>(args, sinks[0], context) : RunColumnSum<double>(args, sinks[0], context);
}

}  // namespace assay::cublas
