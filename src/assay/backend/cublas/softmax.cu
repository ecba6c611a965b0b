// softmax softmax_grad. The maximum of a row is one of its binary32 elements, so that it is exact.
#include "assay/backend/cublas/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cublas {
namespace {

using numerics::Exp;

template <class T>
struct Forward {
  const float* x;
  std::int64_t n;
  Sink y;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const float* in = x + row * n;
    const T m(team.Range(n, [&](std::int64_t i) { return __ldg(in + i); }).most);
    const auto e = [&](std::int64_t i) { return Exp(T(__ldg(in + i)) - m); };
    const T sum = team.template Sum<T>(n, e);
    team.ForEach(n, [&](std::int64_t i) { y.Put(row * n + i, e(i) / sum); });
  }
};

template <class T>
struct Grad {
  const float *y, *dy;
  std::int64_t n;
  Sink dx;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const float *of_row = y + row * n, *gradient = dy + row * n;
    const T d = team.template Sum<T>(n, [&](std::int64_t i) { return T(__ldg(of_row + i)) * T(__ldg(gradient + i)); });
    team.ForEach(n, [&](std::int64_t i) { dx.Put(row * n + i, T(__ldg(of_row + i)) * (T(__ldg(gradient + i)) - d)); });
  }
};

template <class T>
void RunForward(const KernelArgs& args, const Sink& out, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  LaunchRows(Forward<T>{args.In<float>(0), view.cols, out}, view.rows, view.cols, context, "softmax");
}

template <class T>
void RunGrad(const KernelArgs& args, const Sink& out, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const Grad<T> op{args.In<float>(0), args.In<float>(1), view.cols, out};
  LaunchRows(op, view.rows, view.cols, context, "softmax_grad");
}

}  // namespace

void Run_softmax(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  sinks[0].bounded() ? RunForward<Near>(args, sinks[0], context) : RunForward<double>(args, sinks[0], context);
}

void Run_softmax_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  sinks[0].bounded() ? RunGrad<Near>(args, sinks[0], context) : RunGrad<double>(args, sinks[0], context);
}

}  // namespace assay::cublas
