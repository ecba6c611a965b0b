// Kernels of fill, scale, add_scalar, broadcast_to and reshape.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/arithmetic.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <array>

#include "assay/backend/cpu/elementwise-inl.h"
#include "assay/backend/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

HWY_INLINE void FillRun(float value, float* y, std::int64_t n) {
  const F v = P::Canonical(P::Set(value));
  ForVectors(
      n, [&](std::int64_t i) HWY_ATTR { P::Store(v, y + i); },
      [&](std::int64_t i, std::size_t count) HWY_ATTR { P::StoreSome(v, y + i, count); });
}

HWY_INLINE void CopyRun(const float* x, float* y, std::int64_t n) {
  MapUnary(x, y, n, [](F v) HWY_ATTR { return v; });
}

// The axes of a broadcast, neighbours of the same kind merged: the index along a kept group moves the input by `step`, along a
// repeated one it does not.
struct BroadcastGroup {
  std::int64_t extent = 1;
  std::int64_t step = 0;  // 0: repeated
};

struct BroadcastPlan {
  std::array<BroadcastGroup, Shape::kMaxRank> groups;  // the last axes first
  std::size_t count = 0;

  BroadcastPlan(const Shape& from, const Shape& to) {
    std::int64_t step = 1;
    for (int axis = 0; axis < to.rank(); ++axis) {
      const std::int64_t extent = to.Back(axis);
      if (extent == 1) continue;
      const bool kept = axis < from.rank() && from.Back(axis) != 1;
      if (count == 0 || (groups[count - 1].step != 0) != kept) groups[count++] = {1, kept ? step : 0};
      groups[count - 1].extent *= extent;
      if (kept) step *= extent;
    }
    if (count == 0) count = 1;  // one element to one element
  }

  // Where in the input the run that holds output element `run * groups[0].extent` starts.
  std::int64_t Offset(std::int64_t run) const {
    std::int64_t offset = 0;
    for (std::size_t g = 1; g < count; ++g) {
      offset += run % groups[g].extent * groups[g].step;
      run /= groups[g].extent;
    }
    return offset;
  }
};

void Elements_broadcast_to(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const BroadcastPlan plan(args.in_type(0).shape, args.out_type(0).shape);
  const float* x = args.In<float>(0);
  float* y = args.Out<float>(0);
  const std::int64_t run_length = plan.groups[0].extent;
  const bool kept = plan.groups[0].step != 0;
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t run = i / run_length;
    const std::int64_t skip = i - run * run_length;
    const std::int64_t n = std::min(run_length - skip, end - i);
    const float* source = x + plan.Offset(run);
    if (kept) {
      CopyRun(source + skip, y, n);
    } else {
      FillRun(*source, y, n);
    }
    y += n;
    i += n;
  }
}

void Elements_fill(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  FillRun(args.attrs().Float(1), args.Out<float>(0), end - begin);
}

void Elements_reshape(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  CopyRun(args.In<float>(0), args.Out<float>(0), end - begin);
}

void Elements_scale(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const F factor = P::Set(args.attrs().Float(0));
  MapUnary(args.In<float>(0), args.Out<float>(0), end - begin, [&](F x) HWY_ATTR { return P::Mul(x, factor); });
}

void Elements_add_scalar(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const F term = P::Set(args.attrs().Float(0));
  MapUnary(args.In<float>(0), args.Out<float>(0), end - begin, [&](F x) HWY_ATTR { return P::Add(x, term); });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
