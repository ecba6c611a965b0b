// conv2d and its gradients as contractions, one per group, whose image operand is read through its windows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/conv2d.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/conv2d_operands-inl.h"
#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/pack-inl.h"
#include "assay/ops/conv2d_geometry.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

using Geometry = ops::Conv2dGeometry;

// The windows are the pixels themselves: the image is a plain matrix.
bool IsPlain(const Geometry& g) { return g.kh == 1 && g.kw == 1 && g.stride == 1 && g.pad == 0; }

std::vector<std::int64_t> ForwardTaps(std::int64_t kernel, std::int64_t pad) {
  std::vector<std::int64_t> taps;
  for (std::int64_t k = 0; k < kernel; ++k) taps.push_back(k - pad);
  return taps;
}

Windows ForwardWindows(const Geometry& g, const float* x) {
  return {.image = x,
          .height = g.h,
          .width = g.w,
          .pixel = g.c,
          .channels = g.group_c(),
          .rows = g.oh,
          .columns = g.ow,
          .step = g.stride,
          .taps_h = ForwardTaps(g.kh, g.pad),
          .taps_w = ForwardTaps(g.kw, g.pad)};
}

// The pixels of one axis of dx that are `residue` modulo the stride, and the taps that reach them: tap k reaches pixel
// residue + i * stride from position i + taps[k] of dy.
struct ResidueClass {
  ResidueClass(std::int64_t residue, std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t pad)
      : pixels((extent - residue + stride - 1) / stride) {
    for (std::int64_t k = 0; k < kernel; ++k) {
      if ((residue + pad - k) % stride != 0) continue;
      kernel_taps.push_back(k);
      offsets.push_back((residue + pad - k) / stride);
    }
  }
  std::int64_t pixels;
  std::vector<std::int64_t> kernel_taps, offsets;
};

// dx at the pixels of one residue class per axis: a contraction over the taps that reach them.
void RunGradXClass(const Geometry& g, std::int64_t residue_h, std::int64_t residue_w, const float* dy, const float* weights,
                   float* dx, Context& context) {
  const ResidueClass h(residue_h, g.h, g.kh, g.stride, g.pad), w(residue_w, g.w, g.kw, g.stride, g.pad);
  const Windows windows{.image = dy,
                        .height = g.oh,
                        .width = g.ow,
                        .pixel = g.o,
                        .channels = g.group_o(),
                        .rows = h.pixels,
                        .columns = w.pixels,
                        .step = 1,
                        .taps_h = h.offsets,
                        .taps_w = w.offsets};
  std::vector<std::int64_t> taps;
  for (std::int64_t kh : h.kernel_taps) {
    for (std::int64_t kw : w.kernel_taps) taps.push_back(kh * g.kw + kw);
  }
  std::vector<std::int64_t> rows;
  if (g.stride != 1) {
    for (std::int64_t image = 0; image < g.n; ++image) {
      for (std::int64_t i = 0; i < h.pixels; ++i) {
        for (std::int64_t j = 0; j < w.pixels; ++j) {
          rows.push_back(((image * g.h + residue_h + i * g.stride) * g.w + residue_w + j * g.stride) * g.c);
        }
      }
    }
  }
  const WindowLines a(windows);
  const ContiguousLines plain_a(dy, g.o);
  const WeightTaps b(weights, g.group_o(), g.kh * g.kw, g.group_c(), taps);
  const Contraction task{.m = g.n * h.pixels * w.pixels,
                         .n = g.group_c(),
                         .k = windows.window_size(),
                         .a = IsPlain(g) ? static_cast<const Operand*>(&plain_a) : &a,
                         .b = &b,
                         .c = dx,
                         .c_stride = g.c,
                         .c_rows = g.stride != 1 ? rows.data() : nullptr};
  Gemm(task, context);
}

}  // namespace

void Run_conv2d(const KernelArgs& args, Context& context) {
  const Geometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t depth = g.kh * g.kw * g.group_c();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* x = args.In<float>(0) + group * g.group_c();
    const Windows windows = ForwardWindows(g, x);
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
  const Geometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t window = g.kh * g.kw * g.group_c();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const float* x = args.In<float>(0) + group * g.group_c();
    const Windows windows = ForwardWindows(g, x);
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
