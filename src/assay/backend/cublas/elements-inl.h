// Elementwise ops with one output on the device. For .cu files alone.
//
// A thread takes kAtOnce elements that lie a block apart, reads all of their operands and then puts results: an output may lie in the place of an input.
#pragma once

#include "assay/backend/cublas/kernels.h"
#include "assay/backend/cuda/launch-inl.h"

namespace assay::cublas {

inline constexpr int kElementThreads = 256;
inline constexpr int kAtOnce = 4;

// The operands of an element.
template <int n>
struct Operands {
  float at[n];
};

template <int n>
struct OperandPointers {
  const float* at[n];

  __device__ Operands<n> Load(std::int64_t i) const {
    Operands<n> x;
#pragma unroll
    for (int k = 0; k < n; ++k) x.at[k] = at[k][i];
    return x;
  }
};

template <int n>
OperandPointers<n> PointersOf(const KernelArgs& args) {
  OperandPointers<n> pointers;
  for (int k = 0; k < n; ++k) pointers.at[k] = args.In<float>(static_cast<std::size_t>(k));
  return pointers;
}

// Calls body(i, operands) for the elements of this thread, `count` of which are read at once.
template <int count, int n, class Body>
__device__ void ForEachElement(const OperandPointers<n>& in, std::int64_t elements, const Body& body) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x * count;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x * count + threadIdx.x; first < elements;
       first += step) {
    Operands<n> x[count];
#pragma unroll
    for (int a = 0; a < count; ++a) {
      const std::int64_t i = first + a * static_cast<std::int64_t>(blockDim.x);
      if (i < elements) x[a] = in.Load(i);
    }
#pragma unroll
    for (int a = 0; a < count; ++a) {
      const std::int64_t i = first + a * static_cast<std::int64_t>(blockDim.x);
      if (i < elements) body(i, x[a]);
    }
  }
}

// How an op comes to its bounds.
enum class Bounds {
  kNone,   // exact: there are none
  kNear,   // with the value
  kRough,  // with the value, where a rough one leaves the rounding open
};

// By value, so that operands stay in registers.
template <class Op>
__device__ __noinline__ void PutNear(Op op, const Sink& sink, std::int64_t i, Operands<Op::kInputs> x) {
  sink.Put(i, op.template Value<Near>(x.at));
}

// Op has kInputs, kBounds, T Value<T>(const float* operands) and, for kRough, double Rough(const float* operands, double y).
template <class Op, bool kBounded>
__global__ void __launch_bounds__(kElementThreads)
    Elements(const __grid_constant__ OperandPointers<Op::kInputs> in, const __grid_constant__ Op op, std::int64_t elements,
             const __grid_constant__ Sink sink) {
  ForEachElement<kAtOnce>(in, elements, [&](std::int64_t i, const Operands<Op::kInputs>& x) {
    if constexpr (!kBounded) {
      sink.Put(i, op.template Value<double>(x.at));
    } else if constexpr (Op::kBounds == Bounds::kNear) {
      sink.Put(i, op.template Value<Near>(x.at));
    } else {
      const double y = op.template Value<double>(x.at);
      if (sink.Wants(i, y, op.Rough(x.at, y))) {
        PutNear(op, sink, i, x);
      } else {
        sink.Put(i, y);
      }
    }
  });
}

template <class Op>
void RunElements(const KernelArgs& args, const Sink& sink, Context& context, const Op& op) {
  const std::int64_t elements = args.out_type(0).elements();
  if (elements == 0) return;
  const auto in = PointersOf<Op::kInputs>(args);
  const unsigned grid = cuda::GridFor(elements, kElementThreads * kAtOnce);
  if constexpr (Op::kBounds != Bounds::kNone) {
    if (sink.bounded()) {
      Elements<Op, true><<<grid, kElementThreads, 0, context.stream()>>>(in, op, elements, sink);
      cuda::CheckLaunch("Elements");
      return;
    }
  }
  Elements<Op, false><<<grid, kElementThreads, 0, context.stream()>>>(in, op, elements, sink);
  cuda::CheckLaunch("Elements");
}

}  // namespace assay::cublas
