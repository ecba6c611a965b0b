// cross_entropy cross_entropy_grad. Rows are as long as a vocabulary: they are computed in double, and in Near only where a rough bound leaves the rounding open.
#include <algorithm>

#include "assay/backend/cublas/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cublas {
namespace {

using numerics::Exp;
using numerics::kUnit;
using numerics::Log;

__device__ bool IsValid(std::int32_t target, std::int64_t n) { return target >= 0 && target < n; }

// What stands for a row without a valid target: zero if it is to be ignored. Exact.
__device__ Near WithoutTarget(std::int32_t target) { return Near(target == -1 ? 0.0f : __int_as_float(0x7fc00000)); }

template <class T, class Team>
__device__ T LogSumExp(const float* x, std::int64_t n, float most, const Team& team) {
  const T m(most);
  return m + Log(team.template Sum<T>(n, [&](std::int64_t i) { return Exp(T(__ldg(x + i)) - m); }));
}

struct Rows {
  const float* x;
  const std::int32_t* targets;
  std::int64_t n;
  Sink losses, lses;

  template <class Team>
  __device__ RangeOf Range(std::int64_t row, const Team& team) const {
    return team.Range(n, [&](std::int64_t i) { return __ldg(x + row * n + i); });
  }
  // One thread: the results of a row.
  template <class T>
  __device__ void Put(std::int64_t row, const T& lse) const {
    const std::int32_t target = __ldg(targets + row);
    if (IsValid(target, n)) {
      losses.Put(row, lse - T(__ldg(x + row * n + target)));
    } else {
      losses.Put(row, WithoutTarget(target));
    }
    lses.Put(row, lse);
  }
};

// Rows in double. Those whose true bound is wanted are left to the other kernel, which needs twice as many registers.
template <bool kBounded>
struct Forward {
  Rows rows;
  double of_depth;  // what the sum and the functions add to a relative error
  bool* left;       // for each row

  // More than the bound of Near for either result: Rough_cross_entropy of semantics/rounded/rough.cc, where it is derived.
  __device__ double Rough(const RangeOf& range, double y) const {
    const double span = double{range.most} - double{range.least}, size = fabs(double{range.most}) + fabs(double{range.least});
    return 4 * (span * kUnit + of_depth + kUnit * (size + fabs(y) + 64)) + 0x1p-49;
  }
  __device__ bool Wants(std::int64_t row, const RangeOf& range, double lse) const {
    if (rows.lses.Wants(row, lse, Rough(range, lse))) return true;
    const std::int32_t target = __ldg(rows.targets + row);
    if (!IsValid(target, rows.n)) return false;
    const double loss = lse - double{__ldg(rows.x + row * rows.n + target)};
    return rows.losses.Wants(row, loss, Rough(range, loss));
  }

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const RangeOf range = rows.Range(row, team);
    const double lse = LogSumExp<double>(rows.x + row * rows.n, rows.n, range.most, team);
    if (!team.leads()) return;
    if constexpr (kBounded) {
      left[row] = Wants(row, range, lse);
      if (left[row]) return;
    }
    rows.Put(row, lse);
  }
};

struct ForwardLeft {
  Rows rows;
  const bool* left;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    if (!left[row]) return;
    const Near lse = LogSumExp<Near>(rows.x + row * rows.n, rows.n, rows.Range(row, team).most, team);
    if (team.leads()) rows.Put(row, lse);
  }
};

constexpr int kAhead = 4;                               // loads on their way before an element is put
constexpr std::int64_t kPiece = 2 * kAhead * kThreads;  // of a row, for a block
constexpr std::int64_t kMaxGridRows = 65535;

template <bool kBounded>
struct Grad {
  const float* x;
  const std::int32_t* targets;
  const float *lses, *dlosses;
  std::int64_t rows, n;
  Sink dx;

  template <class T>
  __device__ T Element(float in, bool is_target, const T& lse, const T& dloss) const {
    const T p = Exp(T(in) - lse);
    return (is_target ? p - T(1.0f) : p) * dloss;
  }

  // With a = x - lse, y = exp(a) · dloss has a relative bound of |a| units and 2^-51 for exp, and a unit for the product: twice that, for terms of second order. Where y is so small that this is lost it
  // is less than a grid value, and the bound less than y. An infinite a gives no number, and Near decides; so it does for p - 1, which may cancel.
  __device__ void Put(std::int64_t at, float in, bool is_target, float lse, float dloss) const {
    const double y = Element<double>(in, is_target, lse, dloss);
    if constexpr (kBounded) {
      const double rough = fabs(y) * (2 * kUnit * fabs(double{in} - double{lse}) + 0x1p-50);
      if (is_target || dx.Wants(at, y, rough)) return dx.Put(at, Element<Near>(in, is_target, lse, dloss));
    }
    dx.Put(at, y);
  }

  __device__ void Row(std::int64_t row, std::int64_t begin, std::int64_t end) const {
    const std::int32_t target = __ldg(targets + row);
    const float lse = __ldg(lses + row), dloss = __ldg(dlosses + row);
    if (!IsValid(target, n)) {
      for (std::int64_t i = begin + threadIdx.x; i < end; i += kThreads) dx.Put(row * n + i, WithoutTarget(target));
      return;
    }
    const float* in = x + row * n;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += kAhead * kThreads) {
      float inputs[kAhead];
#pragma unroll
      for (int k = 0; k < kAhead; ++k) inputs[k] = i + k * kThreads < end ? __ldg(in + i + k * kThreads) : 0.0f;
#pragma unroll
      for (int k = 0; k < kAhead; ++k) {
        const std::int64_t at = i + k * kThreads;
        if (at < end) Put(row * n + at, inputs[k], at == target, lse, dloss);
      }
    }
  }
};

template <bool kBounded>
__global__ void __launch_bounds__(kThreads) GradPieces(const __grid_constant__ Grad<kBounded> op) {
  const std::int64_t begin = blockIdx.x * kPiece, end = begin + kPiece < op.n ? begin + kPiece : op.n;
  for (std::int64_t row = blockIdx.y; row < op.rows; row += gridDim.y) op.Row(row, begin, end);
}

template <bool kBounded>
void RunForward(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const Rows rows{
      .x = args.In<float>(0), .targets = args.In<std::int32_t>(1), .n = view.cols, .losses = sinks[0], .lses = sinks[1]};
  const double of_depth = numerics::SumDepth(view.cols) * kUnit + 0x1p-50;
  auto* left = kBounded ? static_cast<bool*>(context.Scratch(static_cast<std::size_t>(view.rows))) : nullptr;
  LaunchRows(Forward<kBounded>{rows, of_depth, left}, view.rows, view.cols, context, "cross_entropy");
  if constexpr (kBounded) LaunchRows(ForwardLeft{rows, left}, view.rows, view.cols, context, "cross_entropy of rows left");
}

template <bool kBounded>
void RunGrad(const KernelArgs& args, const Sink& out, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  if (view.elements() == 0) return;
  const Grad<kBounded> op{.x = args.In<float>(0),
                          .targets = args.In<std::int32_t>(1),
                          .lses = args.In<float>(2),
                          .dlosses = args.In<float>(3),
                          .rows = view.rows,
                          .n = view.cols,
                          .dx = out};
  const dim3 grid(static_cast<unsigned>(cuda::CeilDiv(view.cols, kPiece)),
                  static_cast<unsigned>(std::min(view.rows, kMaxGridRows)));
  GradPieces<<<grid, kThreads, 0, context.stream()>>>(op);
  cuda::CheckLaunch("cross_entropy_grad");
}

}  // namespace

void Run_cross_entropy(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? RunForward<true>(args, sinks, context) : RunForward<false>(args, sinks, context);
}

void Run_cross_entropy_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  sinks[0].bounded() ? RunGrad<true>(args, sinks[0], context) : RunGrad<false>(args, sinks[0], context);
}

}  // namespace assay::cublas
