// rope: a table of the sines and cosines of every position and pair first, then the rotations.
#include "assay/backend/cublas/kernels.h"
#include "assay/backend/cuda/launch-inl.h"

namespace assay::cublas {
namespace {

template <class T>
struct Turn {
  T c, s;
};

// table[t * half + j]: pair j at position offset + t.
template <class T>
__global__ void RopeTable(Turn<T>* table, std::int64_t time, std::int64_t half, float base, std::int64_t offset, bool inverse) {
  const auto count = [](std::int64_t n) { return T(static_cast<float>(n)); };
  for (std::int64_t i = cuda::GlobalThread<std::int64_t>(); i < time * half; i += cuda::GlobalThreads<std::int64_t>()) {
    const std::int64_t t = i / half, j = i - t * half;
    const T frequency = T(1.0f) / numerics::Pow(T(base), count(2 * j) / count(2 * half));
    const T angle = count(offset + t) * frequency;
    const T s = numerics::Sin(angle);
    table[i] = {numerics::Cos(angle), inverse ? -s : s};
  }
}

// Pairs are numbered [batch, time, heads, half].
template <class T, class Index>
__global__ void __launch_bounds__(kThreads)
    Rope(const float* in, const Turn<T>* table, cuda::Divisor<Index> by_half, cuda::Divisor<Index> by_heads,
         cuda::Divisor<Index> by_time, std::int64_t half, Index pairs, const __grid_constant__ Sink sink) {
  for (Index i = cuda::GlobalThread<Index>(); i < pairs; i += cuda::GlobalThreads<Index>()) {
    Index j, head, t;
    const Index vector = by_half.Divide(i, j);
    by_time.Divide(by_heads.Divide(vector, head), t);
    const std::int64_t at = 2 * half * static_cast<std::int64_t>(vector) + static_cast<std::int64_t>(j);
    const Turn<T> turn = table[static_cast<std::int64_t>(t) * half + static_cast<std::int64_t>(j)];
    const T a(__ldg(in + at)), b(__ldg(in + at + half));
    sink.Put(at, a * turn.c - b * turn.s);
    sink.Put(at + half, b * turn.c + a * turn.s);
  }
}

template <class T>
void RunRope(const KernelArgs& args, const Sink& sink, Context& context) {
  const Shape& shape = args.in_type(0).shape;
  const std::int64_t time = shape[1], half = shape[3] / 2, pairs = shape.elements() / 2;
  auto* table = static_cast<Turn<T>*>(context.Scratch(static_cast<std::size_t>(time * half) * sizeof(Turn<T>)));
  RopeTable<<<cuda::GridFor(time * half, 64), 64, 0, context.stream()>>>(table, time, half, args.attrs().Float(0),
                                                                         args.attrs().Int(1), args.attrs().Int(2) != 0);
  cuda::CheckLaunch("rope table");
  const auto launch = [&](auto index) {
    using Index = decltype(index);
    Rope<<<cuda::GridFor(pairs, kThreads), kThreads, 0, context.stream()>>>(
        args.In<float>(0), table, cuda::Divisor<Index>(half), cuda::Divisor<Index>(shape[2]), cuda::Divisor<Index>(shape[1]),
        half, static_cast<Index>(pairs), sink);
  };
  if (cuda::FitsIndex32(shape.elements())) {
    launch(std::uint32_t{});
  } else {
    launch(std::uint64_t{});
  }
  cuda::CheckLaunch("rope");
}

}  // namespace

void Run_rope(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  if (args.in_type(0).shape.elements() == 0) return;
  if (sinks[0].bounded()) {
    RunRope<Near>(args, sinks[0], context);
  } else {
    RunRope<double>(args, sinks[0], context);
  }
}

}  // namespace assay::cublas
