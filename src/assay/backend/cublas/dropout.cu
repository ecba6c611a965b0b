// dropout: a thread takes the four neighbours whose draws are one block of the generator.
#include "assay/backend/cublas/elements-inl.h"
#include "assay/numerics/random.h"

namespace assay::cublas {
namespace {

struct Draws {
  const std::uint32_t* rng;
  std::int64_t stream;
  std::uint32_t threshold;
  double factor;  // of what is kept
};

__global__ void __launch_bounds__(kElementThreads)
    Dropout(const float* in, std::int64_t elements, Draws d, const __grid_constant__ Sink sink) {
  const numerics::DrawKey key = numerics::MakeDrawKey(d.rng, d.stream);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x * 4;
  for (std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 4; i < elements; i += step) {
    const PhiloxBlock draws = numerics::DrawBlock(key, static_cast<std::uint32_t>(i / 4));
    if (i + 4 <= elements) {
      const float4 x = *reinterpret_cast<const float4*>(in + i);
      const auto kept = [&](float v, int k) { return sink.Rounded(draws[k] >= d.threshold ? double{v} * d.factor : 0.0); };
      *reinterpret_cast<float4*>(sink.out + i) = {kept(x.x, 0), kept(x.y, 1), kept(x.z, 2), kept(x.w, 3)};
    } else {
      for (int k = 0; i + k < elements; ++k) sink.Put(i + k, draws[k] >= d.threshold ? double{in[i + k]} * d.factor : 0.0);
    }
  }
}

}  // namespace

void Run_dropout(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const std::int64_t elements = args.out_type(0).elements();
  if (elements == 0) return;
  const float p = args.attrs().Float(0);
  const Draws draws{.rng = args.In<std::uint32_t>(1),
                    .stream = args.attrs().Int(1),
                    .threshold = numerics::DropoutThreshold(p),
                    .factor = 1.0 / (1.0 - double{p})};
  Dropout<<<cuda::GridFor(elements, kElementThreads * 4), kElementThreads, 0, context.stream()>>>(args.In<float>(0), elements,
                                                                                                  draws, sinks[0]);
  cuda::CheckLaunch("dropout");
}

}  // namespace assay::cublas
