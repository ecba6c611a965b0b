// conv2d and its gradients as contractions, one per group, whose image operand is read through its windows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/conv2d.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/conv2d_digits-inl.h"
#include "assay/backend/cpu/conv2d_operands-inl.h"
#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/pack-inl.h"
#include "assay/ops/conv2d_windows.h"
#include "assay/ops/digits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

using Geometry = ops::Conv2dGeometry;

// dx at the pixels of one residue class per axis.
void RunGradXClass(const Geometry& g, std::int64_t residue_h, std::int64_t residue_w, const float* dy, const float* weights,
                   float* dx, Context& context) {
  const ops::ResidueClass h(residue_h, g.h, g.kh, g.stride, g.pad), w(residue_w, g.w, g.kw, g.stride, g.pad);
  const Windows windows = ops::GradXWindows(g, h, w, dy);
  std::vector<std::int64_t> rows;
  if (g.stride != 1) rows = ops::PixelsOf(g, h, w, 0);
  const WindowLines a(windows);
  const ContiguousLines plain_a(dy, g.o);
  const WeightTaps b(weights, g.group_o(), g.kh * g.kw, g.group_c(), ops::KernelTaps(g, h, w));
  const Contraction task{.m = windows.count(),
                         .n = g.group_c(),
                         .k = windows.size(),
                         .a = IsPlain(g) ? static_cast<const Operand*>(&plain_a) : &a,
                         .b = &b,
                         .c = dx,
                         .c_stride = g.c,
                         .c_rows = g.stride != 1 ? rows.data() : nullptr};
  Gemm(task, context);
}

}  // namespace

void Run_conv2d(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return Conv2dByDigits(args, context);
  const Geometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t depth = g.kh * g.kw * g.group_c();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* x = args.In<float>(0) + group * g.group_c();
    const Windows windows = ops::ForwardWindows(g, x);
    const WindowLines a(windows);
    const ContiguousLines plain_a(x, g.c);
    const ContiguousLines b(args.In<float>(1) + group * g.group_o() * depth, depth);
    const Contraction task{.m = g.n * g.oh * g.ow,
                           .n = g.group_o(),
                           .k = depth,
                           .a = IsPlain(g) ? static_cast<const Operand*>(&plain_a) : &a,
                           .b = &b,
                           .c = args.Out<float>(0) + group * g.group_o(),
                           .c_stride = g.o};
    Gemm(task, context);
  }
}

void Run_conv2d_grad_x(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return Conv2dGradXByDigits(args, context);
  const Geometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* dy = args.In<float>(0) + group * g.group_o();
    const float* weights = args.In<float>(1) + group * g.group_o() * g.kh * g.kw * g.group_c();
    float* dx = args.Out<float>(0) + group * g.group_c();
    for (std::int64_t h = 0; h < std::min(g.stride, g.h); ++h) {
      for (std::int64_t w = 0; w < std::min(g.stride, g.w); ++w) RunGradXClass(g, h, w, dy, weights, dx, context);
    }
  }
}

void Run_conv2d_grad_w(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return Conv2dGradWByDigits(args, context);
  const Geometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t window = g.kh * g.kw * g.group_c();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* x = args.In<float>(0) + group * g.group_c();
    const Windows windows = ops::ForwardWindows(g, x);
    const AdjacentLines a(args.In<float>(1) + group * g.group_o(), g.o);
    const WindowTaps b(windows);
    const AdjacentLines plain_b(x, g.c);
    const Contraction task{.m = g.group_o(),
                           .n = window,
                           .k = g.n * g.oh * g.ow,
                           .a = &a,
                           .b = IsPlain(g) ? static_cast<const Operand*>(&plain_b) : &b,
                           .c = args.Out<float>(0) + group * g.group_o() * window,
                           .c_stride = window};
    Gemm(task, context);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
