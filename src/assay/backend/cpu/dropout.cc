// Kernel of dropout: the draws of many blocks at once, from the first element that starts a block on.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/dropout.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>

#include "assay/backend/cpu/elementwise-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/numerics/random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// x * factor where the draw reaches the threshold, +0 elsewhere.
HWY_INLINE F Keep(F x, const std::uint32_t* draws, std::uint32_t threshold, F factor) {
  const hn::ScalableTag<std::uint32_t> du;
  const auto dropped = hn::Gt(hn::Set(du, threshold), hn::Load(du, draws));
  return hn::IfThenZeroElse(hn::RebindMask(P::D(), dropped), P::Mul(x, factor));
}

void Elements_dropout(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const float p = args.attrs().Float(0);
  const numerics::DrawKey key = numerics::MakeDrawKey(args.In<std::uint32_t>(1), args.attrs().Int(1));
  const std::uint32_t threshold = numerics::DropoutThreshold(p);
  const F factor = P::Set(numerics::DropoutFactor(p));
  const float* x = args.In<float>(0);
  float* y = args.Out<float>(0);
  constexpr std::int64_t kDraws = static_cast<std::int64_t>(nm::kDraws);
  HWY_ALIGN std::uint32_t draws[nm::kDraws + P::kLanes] = {};
  for (std::int64_t i = begin; i < end;) {
    nm::DrawBlocks(key, static_cast<std::uint32_t>(i / 4), draws);
    const std::int64_t skip = i % 4;
    const std::int64_t n = std::min(kDraws - skip, end - i);
    // An unaligned start costs one shift of the buffer, at most once in a call.
    if (skip != 0) std::copy(draws + skip, draws + kDraws, draws);
    ForVectors(
        n, [&](std::int64_t k) HWY_ATTR { P::Store(P::Canonical(Keep(P::Load(x + k), draws + k, threshold, factor)), y + k); },
        [&](std::int64_t k, std::size_t count) HWY_ATTR {
          P::StoreSome(P::Canonical(Keep(P::LoadSome(x + k, count), draws + k, threshold, factor)), y + k, count);
        });
    x += n;
    y += n;
    i += n;
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
