// Kernel of rope: a table of the sines and cosines of every position and pair first, then the rotations.
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"

namespace assay::cuda {
namespace {

using numerics::device::Cos;
using numerics::device::Device;
using numerics::device::Pow;
using numerics::device::Sin;

constexpr int kMaxRopeThreads = 512;

// table[t * half + j]: cosine and sine of pair j at position offset + t.
__global__ void __launch_bounds__(kMaxRopeThreads, 1)
    RopeTable(float2* table, std::int64_t time, std::int64_t half, float base, std::int64_t offset, bool inverse) {
  for (std::int64_t i = GlobalThread<std::int64_t>(); i < time * half; i += GlobalThreads<std::int64_t>()) {
    const std::int64_t t = i / half, j = i - t * half;
    const float exponent = __fdiv_rn(static_cast<float>(2 * j), static_cast<float>(2 * half));
    const float frequency = __fdiv_rn(1.0f, Pow<Device>(base, exponent));
    const float angle = __fmul_rn(static_cast<float>(offset + t), frequency);
    const float s = Sin<Device>(angle);
    table[i] = {Cos<Device>(angle), inverse ? -s : s};
  }
}

// Pairs are numbered [batch, time, heads, half].
template <class Index>
__global__ void __launch_bounds__(kMaxRopeThreads, 1)
    Rope(const float* in, float* out, const float2* table, Divisor<Index> by_half, Divisor<Index> by_heads,
         Divisor<Index> by_time, std::int64_t half, Index pairs) {
  for (Index i = GlobalThread<Index>(); i < pairs; i += GlobalThreads<Index>()) {
    Index j, head, t;
    const Index vector = by_half.Divide(i, j);
    by_time.Divide(by_heads.Divide(vector, head), t);
    const std::int64_t at = 2 * half * static_cast<std::int64_t>(vector) + static_cast<std::int64_t>(j);
    const float2 turn = __ldg(table + static_cast<std::int64_t>(t) * half + static_cast<std::int64_t>(j));
    const float a = __ldg(in + at), b = __ldg(in + at + half);
    out[at] = Device::Canonical(__fmaf_rn(a, turn.x, -__fmul_rn(b, turn.y)));
    out[at + half] = Device::Canonical(__fmaf_rn(b, turn.x, __fmul_rn(a, turn.y)));
  }
}

template <class Index>
void LaunchRope(const KernelArgs& args, const float2* table, Context& context) {
  const Shape& shape = args.in_type(0).shape;
  const std::int64_t half = shape[3] / 2;
  const std::int64_t pairs = args.in_type(0).elements() / 2;
  const int threads = ThreadsOr(context, 256, kMaxRopeThreads);
  Rope<<<GridFor(pairs, threads), threads, 0, context.stream()>>>(args.In<float>(0), args.Out<float>(0), table,
                                                                  Divisor<Index>(half), Divisor<Index>(shape[2]),
                                                                  Divisor<Index>(shape[1]), half, static_cast<Index>(pairs));
  CheckLaunch("rope");
}

}  // namespace

void Run_rope(const KernelArgs& args, Context& context) {
  const Shape& shape = args.in_type(0).shape;
  if (shape.elements() == 0) return;
  const std::int64_t time = shape[1], half = shape[3] / 2;
  auto* table = static_cast<float2*>(context.Scratch(static_cast<std::size_t>(time * half) * sizeof(float2)));
  const int threads = ThreadsOr(context, 64, kMaxRopeThreads);
  RopeTable<<<GridFor(time * half, threads), threads, 0, context.stream()>>>(table, time, half, args.attrs().Float(0),
                                                                             args.attrs().Int(1), args.attrs().Int(2) != 0);
  CheckLaunch("rope table");
  if (FitsIndex32(shape.elements())) {
    LaunchRope<std::uint32_t>(args, table, context);
  } else {
    LaunchRope<std::uint64_t>(args, table, context);
  }
}

}  // namespace assay::cuda
