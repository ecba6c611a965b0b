// sgd, adam and adamw: all outputs of an element from one reading of its operands.
//
// Elements are computed plainly; the rough bounds of semantics/rounded/rough_elements.h say for which few the bounded formula is needed. What all elements share is computed by each block.
#include "assay/backend/cublas/elements-inl.h"
#include "assay/semantics/rounded/optimizers.h"
#include "assay/semantics/rounded/rough_elements.h"

namespace assay::cublas {
namespace {

// Shared memory has no constructors.
template <class T>
struct Raw {
  alignas(T) unsigned char bytes[sizeof(T)];
  __device__ T& get() { return *reinterpret_cast<T*>(bytes); }
};

// The least power of two that is certainly above a bound of so many units, which was computed in binary32.
__device__ int ExponentOfUnits(float units) { return (__float_as_int(units) >> 23 & 0xff) - 127 + 2 - 53; }

struct Sgd {
  static constexpr int kInputs = 3, kOutputs = 2;
  static constexpr bool kQuick = false;
  template <class T>
  using Scalars = rounded::SgdScalars<T>;
  using Rough = rounded::RoughSgd;

  float momentum, dampening, weight_decay;
  bool nesterov;
  const float *lr, *factor;

  template <class T>
  __device__ Scalars<T> Prepare() const {
    return rounded::SgdScalarsOf<T>(momentum, dampening, weight_decay, nesterov, *lr, *factor);
  }
  __device__ Rough PrepareRough(const Scalars<Near>&) const {
    return rounded::RoughSgdOf(momentum, dampening, weight_decay, *lr);
  }

  // All outputs, and where kBounded their rough bounds.
  template <bool kBounded>
  __device__ static void Plain(const Scalars<double>& s, const Rough& rough, const Operands<kInputs>& x, double* y, double* e) {
    const double p = x.at[0], grad = x.at[1], m = x.at[2];
#pragma unroll
    for (int k = 0; k < kOutputs; ++k) {
      y[k] = rounded::SgdElement(s, k, p, grad, m);
      if constexpr (kBounded) e[k] = rounded::RoughSgdElement(rough, s.factor, k, p, grad, m);
    }
  }
  __device__ static Near Value(const Scalars<Near>& s, int output, const Operands<kInputs>& x) {
    return rounded::SgdElement(s, output, Near(x.at[0]), Near(x.at[1]), Near(x.at[2]));
  }
};

struct Adam {
  static constexpr int kInputs = 4, kOutputs = 3;
  static constexpr bool kQuick = true;
  template <class T>
  using Scalars = rounded::AdamScalars<T>;
  struct Rough {
    double of_move;
    float of_move_units, shrink;  // the same in units
    float factor, decay;          // magnitudes
  };

  rounded::AdamAttributes attributes;
  const float *lr, *factor;
  const std::int64_t* step;

  template <class T>
  __device__ Scalars<T> Prepare() const {
    return rounded::AdamScalarsOf<T>(attributes, *lr, *factor, *step);
  }
  __device__ Rough PrepareRough(const Scalars<Near>& s) const {
    const auto more = [](double x) { return static_cast<float>(std::fabs(x) * (1 + 0x1p-20)); };
    const double of_move = rounded::RoughMove(s);
    return {of_move, more(of_move / numerics::kUnit), s.shrinks ? static_cast<float>(s.shrink.v) : 1.0f, more(s.factor.v),
            s.couples ? more(s.weight_decay.v) : 0.0f};
  }

  // Whether the outputs are settled by bounds in binary32, a bit for each: those of rough_elements.h, each constant raised for what binary32 loses. The move is p · shrink - p' but for 2^-21 of both, and
  // lr1 / denominator is the move over the first moment.
  __device__ static unsigned Quick(const Rough& rough, const Operands<kInputs>& x, const double* y, const Sink* sinks) {
    const float p = fabsf(x.at[0]), m = fabsf(x.at[2]), v = x.at[3];
    const float g = fabsf(x.at[1]) * rough.factor + rough.decay * p, terms = m + g, squares = v + g * g;
    const float after = static_cast<float>(y[0]), both = p + fabsf(after);
    const float move = fabsf(x.at[0] * rough.shrink - after) + 0x1p-21f * both;
    const float lost = terms == 0 ? 0.0f : terms / fabsf(static_cast<float>(y[1]));
    const float of_parameter = 9 * both + move * (1.01f * rough.of_move_units + 34 * lost);
    unsigned settled = 0;
    if (v >= 0 && sinks[0].IsSettled(y[0], ExponentOfUnits(of_parameter))) settled |= 1;
    if (terms == 0 || sinks[1].IsSettled(y[1], ExponentOfUnits(17 * terms))) settled |= 2;
    if (v >= 0 && (squares == 0 || sinks[2].IsSettled(y[2], ExponentOfUnits(17 * squares)))) settled |= 4;
    return settled;
  }

  template <bool kBounded>
  __device__ static void Plain(const Scalars<double>& s, const Rough& rough, const Operands<kInputs>& x, double* y, double* e) {
    const double p = x.at[0], m = x.at[2], v = x.at[3];
    const double g = rounded::AdamGradient(s, p, double{x.at[1]});
    rounded::AdamPlain after;
    after.gradient = std::fabs(double{x.at[1]} * s.factor) + (s.couples ? std::fabs(s.weight_decay * p) : 0.0);
    y[1] = rounded::AdamFirstMoment(s, m, g);
    y[2] = rounded::AdamSecondMoment(s, v, g);
    after.denominator = rounded::AdamDenominator(s, y[2]);
    after.move = rounded::AdamMove(s, y[1], after.denominator);
    y[0] = after.p = rounded::AdamParameter(s, p, after.move);
    if constexpr (kBounded) {
      e[0] = rounded::RoughParameter(rough.of_move, s.lr1, p, m, v, after);
      e[1] = rounded::RoughFirstMoment(m, after.gradient);
      e[2] = rounded::RoughSecondMoment(v, after.gradient);
    }
  }
  __device__ static Near Value(const Scalars<Near>& s, int output, const Operands<kInputs>& x) {
    return rounded::AdamElement(s, output, Near(x.at[0]), Near(x.at[1]), Near(x.at[2]), Near(x.at[3]));
  }
};

template <int n>
struct Sinks {
  Sink of[n];
};

// An output by its rough bound, and in Near where that leaves the rounding open.
template <class Op>
__device__ __noinline__ void PutCarefully(const typename Op::template Scalars<double>& plain,
                                          const typename Op::template Scalars<Near>& scalars, const typename Op::Rough& rough,
                                          const Sink& sink, int output, std::int64_t i, Operands<Op::kInputs> x) {
  double y[Op::kOutputs], e[Op::kOutputs];
  Op::template Plain<true>(plain, rough, x, y, e);
  if (sink.Wants(i, y[output], e[output])) {
    sink.Put(i, Op::Value(scalars, output, x));
  } else {
    sink.Put(i, y[output]);
  }
}

template <class Op, bool kBounded>
__global__ void __launch_bounds__(kElementThreads)
    Optimizer(const __grid_constant__ OperandPointers<Op::kInputs> in, const __grid_constant__ Op op, std::int64_t elements,
              const __grid_constant__ Sinks<Op::kOutputs> sinks) {
  using Plain = typename Op::template Scalars<double>;
  using Bounded = typename Op::template Scalars<Near>;
  __shared__ Raw<Plain> plain;
  __shared__ Raw<Bounded> bounded;
  __shared__ Raw<typename Op::Rough> rough;
  if (threadIdx.x == 0) plain.get() = op.template Prepare<double>();
  if (kBounded && threadIdx.x == 32) {
    bounded.get() = op.template Prepare<Near>();
    rough.get() = op.PrepareRough(bounded.get());
  }
  __syncthreads();
  ForEachElement<kBounded ? 2 : kAtOnce>(in, elements, [&](std::int64_t i, const Operands<Op::kInputs>& x) {
    double y[Op::kOutputs], e[Op::kOutputs];
    Op::template Plain<kBounded && !Op::kQuick>(plain.get(), rough.get(), x, y, e);
    unsigned settled = 0;
    if constexpr (kBounded && Op::kQuick) settled = Op::Quick(rough.get(), x, y, sinks.of);
#pragma unroll
    for (int k = 0; k < Op::kOutputs; ++k) {
      const Sink& sink = sinks.of[k];
      bool careful = false;
      if constexpr (kBounded && Op::kQuick) {
        careful = sink.kind == Sink::Kind::kRecord ? (settled >> k & 1) == 0 : sink.bounded() && sink.Flagged(i);
      } else if constexpr (kBounded) {
        careful = sink.Wants(i, y[k], e[k]);
      }
      if (careful) {
        PutCarefully<Op>(plain.get(), bounded.get(), rough.get(), sink, k, i, x);
      } else {
        sink.Put(i, y[k]);
      }
    }
  });
}

template <class Op>
void RunOptimizer(const KernelArgs& args, std::span<const Sink> sinks, Context& context, const Op& op) {
  const std::int64_t elements = args.out_type(0).elements();
  if (elements == 0) return;
  Sinks<Op::kOutputs> all;
  bool bounded = false;
  for (int k = 0; k < Op::kOutputs; ++k) {
    all.of[k] = sinks[static_cast<std::size_t>(k)];
    bounded = bounded || all.of[k].bounded();
  }
  // Few blocks, because each begins with powers of the decay rates.
  const auto grid = static_cast<unsigned>(
      std::min<std::int64_t>(cuda::CeilDiv(elements, kElementThreads * kAtOnce), context.multiprocessors() * 16));
  const auto in = PointersOf<Op::kInputs>(args);
  if (bounded) {
    Optimizer<Op, true><<<grid, kElementThreads, 0, context.stream()>>>(in, op, elements, all);
  } else {
    Optimizer<Op, false><<<grid, kElementThreads, 0, context.stream()>>>(in, op, elements, all);
  }
  cuda::CheckLaunch("Optimizer");
}

void RunAdam(const KernelArgs& args, std::span<const Sink> sinks, Context& context, bool decoupled) {
  const Attrs& a = args.attrs();
  RunOptimizer(args, sinks, context,
               Adam{.attributes = {a.Float(0), a.Float(1), a.Float(2), a.Float(3), decoupled},
                    .lr = args.In<float>(4),
                    .factor = args.In<float>(5),
                    .step = args.In<std::int64_t>(6)});
}

}  // namespace

void Run_sgd(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const Attrs& a = args.attrs();
  RunOptimizer(args, sinks, context,
               Sgd{.momentum = a.Float(0),
                   .dampening = a.Float(1),
                   .weight_decay = a.Float(2),
                   .nesterov = a.Int(3) != 0,
                   .lr = args.In<float>(3),
                   .factor = args.In<float>(4)});
}

void Run_adam(const KernelArgs& args, std::span<const Sink> sinks, Context& context) { RunAdam(args, sinks, context, false); }
void Run_adamw(const KernelArgs& args, std::span<const Sink> sinks, Context& context) { RunAdam(args, sinks, context, true); }

}  // namespace assay::cublas
