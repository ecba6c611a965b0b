// batchnorm_train batchnorm_infer batchnorm_grad: the sums down all columns, what elements need of them to scratch memory, then the elements.
#include "assay/backend/cublas/columns-inl.h"
#include "assay/ops/rules.h"

namespace assay::cublas {
namespace {

using numerics::Rsqrt;

// y = (x - mean) · factor + beta
template <class T>
struct Affine {
  T mean, factor, beta;
  __device__ T Of(float x) const { return (T(x) - mean) * factor + beta; }
};

template <class T>
struct SumOfX {
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
struct FinishMean {
  float count;
  T* mean;
  __device__ void operator()(std::int64_t c, const T (&totals)[1]) const { mean[c] = totals[0] / T(count); }
};

template <class T>
struct SumOfSquares {
  using Number = T;
  static constexpr int kSums = 1;
  const float* x;
  const T* mean;

  __device__ T Prepare(std::int64_t c) const { return mean[c]; }
  __device__ void Add(Accumulator<T> (&sums)[1], const T& of_column, std::int64_t, std::int64_t i) const {
    const T d = T(__ldg(x + i)) - of_column;
    sums[0].Add(d * d);
  }
};

template <class T>
struct FinishStats {
  const float* gamma;
  float count, eps;
  const T* mean;
  T* factor;
  Sink means, vars, rstds;

  __device__ void operator()(std::int64_t c, const T (&totals)[1]) const {
    const T var = totals[0] / T(count), rstd = Rsqrt(var + T(eps));
    factor[c] = T(__ldg(gamma + c)) * rstd;
    means.Put(c, mean[c]);
    vars.Put(c, var);
    rstds.Put(c, rstd);
  }
};

template <class T>
struct TrainElements {
  const float *x, *beta;
  const T *mean, *factor;
  Sink y;

  __device__ Affine<T> Prepare(std::int64_t c) const { return {mean[c], factor[c], T(__ldg(beta + c))}; }
  using Input = float;
  __device__ float Load(std::int64_t i) const { return __ldg(x + i); }
  __device__ void Put(std::int64_t i, const Affine<T>& column, float input) const { y.Put(i, column.Of(input)); }
};

template <class T>
struct InferElements {
  const float *x, *gamma, *beta, *means, *vars;
  float eps;
  Sink y;

  __device__ Affine<T> Prepare(std::int64_t c) const {
    return {T(__ldg(means + c)), T(__ldg(gamma + c)) * Rsqrt(T(__ldg(vars + c)) + T(eps)), T(__ldg(beta + c))};
  }
  using Input = float;
  __device__ float Load(std::int64_t i) const { return __ldg(x + i); }
  __device__ void Put(std::int64_t i, const Affine<T>& column, float input) const { y.Put(i, column.Of(input)); }
};

// (x - mean) · rstd
template <class T>
struct Normalised {
  T mean, rstd;
  __device__ T Of(float x) const { return (T(x) - mean) * rstd; }
};

template <class T>
struct GradSums {
  using Number = T;
  static constexpr int kSums = 2;
  const float *x, *means, *rstds, *dy;

  __device__ Normalised<T> Prepare(std::int64_t c) const { return {T(__ldg(means + c)), T(__ldg(rstds + c))}; }
  __device__ void Add(Accumulator<T> (&sums)[2], const Normalised<T>& column, std::int64_t, std::int64_t i) const {
    const T gradient(__ldg(dy + i));
    sums[0].Add(gradient * column.Of(__ldg(x + i)));
    sums[1].Add(gradient);
  }
};

template <class T>
struct FinishGrad {
  float count;
  T *of_gamma, *of_beta;
  Sink dgamma, dbeta;

  __device__ void operator()(std::int64_t c, const T (&totals)[2]) const {
    of_gamma[c] = totals[0] / T(count);
    of_beta[c] = totals[1] / T(count);
    dgamma.Put(c, totals[0]);
    dbeta.Put(c, totals[1]);
  }
};

template <class T>
struct GradElements {
  const float *x, *gamma, *means, *rstds, *dy;
  const T *of_gamma, *of_beta;
  Sink dx;

  struct Column {
    Normalised<T> normalised;
    T factor, of_gamma, of_beta;
  };
  __device__ Column Prepare(std::int64_t c) const {
    const T rstd(__ldg(rstds + c));
    return {{T(__ldg(means + c)), rstd}, T(__ldg(gamma + c)) * rstd, of_gamma[c], of_beta[c]};
  }
  using Input = float2;  // of x and dy
  __device__ float2 Load(std::int64_t i) const { return {__ldg(x + i), __ldg(dy + i)}; }
  __device__ void Put(std::int64_t i, const Column& column, float2 input) const {
    const T h = column.normalised.Of(input.x);
    dx.Put(i, column.factor * (T(input.y) - h * column.of_gamma - column.of_beta));
  }
};

template <class T>
struct Workspace {
  Workspace(Cutter cutter, const ColumnCut& cut, int sums)
      : parts(cutter.Take<Accumulator<T>>(PartsOf(cut, sums))),
        first(cutter.Take<T>(cut.cols)),
        second(cutter.Take<T>(cut.cols)),
        bytes(cutter.used()) {}
  static Workspace In(Context& context, const ColumnCut& cut, int sums) {
    return {Cutter(context.Scratch(Workspace(Cutter(), cut, sums).bytes)), cut, sums};
  }
  Accumulator<T>* parts;
  T *first, *second;  // of each column
  std::size_t bytes;
};

template <class T>
void Train(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const auto count = static_cast<float>(view.rows);
  const ColumnCut cut = CutForSums(view.rows, view.cols, context);
  const auto work = Workspace<T>::In(context, cut, 1);
  T *mean = work.first, *factor = work.second;
  LaunchColumnSums(SumOfX<T>{x}, FinishMean<T>{count, mean}, cut, work.parts, context, "batchnorm_train mean");
  const FinishStats<T> stats{.gamma = args.In<float>(1),
                             .count = count,
                             .eps = args.attrs().Float(0),
                             .mean = mean,
                             .factor = factor,
                             .means = sinks[1],
                             .vars = sinks[2],
                             .rstds = sinks[3]};
  LaunchColumnSums(SumOfSquares<T>{x, mean}, stats, cut, work.parts, context, "batchnorm_train variance");
  const TrainElements<T> elements{.x = x, .beta = args.In<float>(2), .mean = mean, .factor = factor, .y = sinks[0]};
  LaunchColumnElements(elements, view.rows, view.cols, context, "batchnorm_train");
}

template <class T>
void Infer(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const InferElements<T> elements{.x = args.In<float>(0),
                                  .gamma = args.In<float>(1),
                                  .beta = args.In<float>(2),
                                  .means = args.In<float>(3),
                                  .vars = args.In<float>(4),
                                  .eps = args.attrs().Float(0),
                                  .y = sinks[0]};
  LaunchColumnElements(elements, view.rows, view.cols, context, "batchnorm_infer");
}

template <class T>
void Grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const GradSums<T> sums{
      .x = args.In<float>(0), .means = args.In<float>(2), .rstds = args.In<float>(3), .dy = args.In<float>(4)};
  const ColumnCut cut = CutForSums(view.rows, view.cols, context);
  const auto work = Workspace<T>::In(context, cut, GradSums<T>::kSums);
  const FinishGrad<T> finish{.count = static_cast<float>(view.rows),
                             .of_gamma = work.first,
                             .of_beta = work.second,
                             .dgamma = sinks[1],
                             .dbeta = sinks[2]};
  LaunchColumnSums(sums, finish, cut, work.parts, context, "batchnorm_grad sums");
  const GradElements<T> elements{.x = sums.x,
                                 .gamma = args.In<float>(1),
                                 .means = sums.means,
                                 .rstds = sums.rstds,
                                 .dy = sums.dy,
                                 .of_gamma = work.first,
                                 .of_beta = work.second,
                                 .dx = sinks[0]};
  LaunchColumnElements(elements, view.rows, view.cols, context, "batchnorm_grad");
}

}  // namespace

void Run_batchnorm_train(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? Train<Near>(args, sinks, context) : Train<double>(args, sinks, context);
}

void Run_batchnorm_infer(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? Infer<Near>(args, sinks, context) : Infer<double>(args, sinks, context);
}

void Run_batchnorm_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? Grad<Near>(args, sinks, context) : Grad<double>(args, sinks, context);
}

}  // namespace assay::cublas
