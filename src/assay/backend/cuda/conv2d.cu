// conv2d and its gradients as matrix products whose operands are read from the images where they lie; the order is contract(K),
// as in gemm-inl.h. A 1x1 convolution that touches every pixel is a plain matrix product. Groups are the core's batch.
#include <algorithm>
#include <vector>

#include "assay/backend/cuda/conv2d_load-inl.h"
#include "assay/backend/cuda/digit_ops.h"
#include "assay/backend/cuda/gemm_launch-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/base/check.h"
#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"

namespace assay::cuda {
namespace {

using gemm::AlongRows;
using Geometry = ops::Conv2dGeometry;

// For operands with an awkward number of channels.
constexpr unsigned kRareTiles = 0b001100;

template <bool whole_taps>
struct TapImages {
  using Params = gemm::TapImages;
  static constexpr unsigned kTilesA = whole_taps ? gemm::kUngroupedTiles : kRareTiles;
  static constexpr bool kSingly = true;
  template <int rows, class T>
  using Load = gemm::LoadTapImages<rows, T::kDepth, T::kThreads, whole_taps>;
};
template <bool whole_taps>
struct TapWeights {
  using Params = gemm::TapWeights;
  static constexpr unsigned kTilesB = whole_taps ? gemm::kUngroupedTiles : kRareTiles;
  template <int rows, class T>
  using Load = gemm::LoadTapWeights<rows, T::kDepth, T::kThreads, whole_taps>;
};
template <int vector>
struct WindowImages {
  using Params = gemm::WindowImages;
  static constexpr unsigned kTilesB = vector == 4 ? gemm::kUngroupedTiles : kRareTiles;
  static constexpr bool kSingly = vector == 1;
  template <int rows, class T>
  using Load = gemm::LoadWindowImages<rows, T::kDepth, T::kThreads, vector>;
};

// The weights of conv2d, in few registers.
struct Weights {
  using Params = gemm::Matrix;
  static constexpr unsigned kTilesB = gemm::kUngroupedTiles;
  static constexpr bool kSingly = true;
  template <int rows, class T>
  using Load = gemm::LoadAlongK<rows, T::kDepth, T::kThreads, 8>;
};
struct SingleRows : AlongRows<1> {
  static constexpr unsigned kTilesA = kRareTiles;
};

bool IsProduct(const Geometry& g) { return g.kh == 1 && g.kw == 1 && g.stride == 1 && g.pad == 0 && g.groups == 1; }

// [m, k] by [k, n], either one read transposed.
void Product(std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b, const float* a, const float* b,
             float* out, Context& context) {
  ops::MatmulGeometry g;
  g.m = m, g.n = n, g.k = k;
  g.transpose_a = transpose_a, g.transpose_b = transpose_b;
  g.a_row = transpose_a ? 1 : k, g.a_col = transpose_a ? m : 1;
  g.b_row = transpose_b ? 1 : n, g.b_col = transpose_b ? k : 1;
  gemm::Product(g, a, b, out, context);
}

// Where K is empty nothing is divided.
Divisor<std::uint32_t> By(std::int64_t divisor) { return Divisor<std::uint32_t>(std::max<std::int64_t>(divisor, 1)); }

// Positions in k and pixels are counted in 32 bits, and so are the bytes that the weights of 128 outputs take.
void CheckCounts(const Geometry& g) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  ASSAY_CHECK(g.n * g.h * g.w < kMost && g.n * g.oh * g.ow < kMost && g.kh * g.kw * std::max(g.c, g.o) < kMost / 256);
}

// Whether slabs of k lie within one tap, and the images that 128 neighbouring rows touch within 2^32 bytes.
bool WholeTaps(const gemm::TapImages& images) {
  const std::int64_t most_images = 128 / (images.rows_h * images.rows_w) + 2;
  const std::int64_t image_bytes = std::int64_t{4} * images.height * images.width * images.channels;
  return images.inner % gemm::kUsualDepth == 0 && most_images * image_bytes < (std::int64_t{1} << 32);
}

// The pixels of one residue class modulo the stride, as rows of the output of conv2d_grad_x.
struct ClassRows {
  std::int64_t group_channels, channels, width, image;  // strides of groups and pixels; extents in elements
  std::int64_t rows_h, rows_w;
  std::int64_t first, step_h, step_w;  // the first pixel and the distance to the next in either direction, in elements

  __device__ __forceinline__ std::int64_t Offset(std::int64_t group, std::int64_t row) const {
    const std::int64_t y = row / rows_w, n = y / rows_h;
    return group * group_channels + n * image + first + (y - n * rows_h) * step_h + (row - y * rows_w) * step_w;
  }
  bool Plain(std::int64_t, std::int64_t n) const { return step_w == n && step_h == rows_w * n && image == rows_h * step_h; }
};

// One residue class of conv2d_grad_x, with its taps.
struct Class {
  gemm::Operands<gemm::TapImages, gemm::TapWeights, ClassRows> operands;
  gemm::Extents extents;
  gemm::Choice choice;
};

// The residue class whose first pixel is (h, w); h, w < stride.
Class ClassAt(const Geometry& g, std::int64_t h, std::int64_t w, const float* dy, const float* weights, float* dx) {
  const std::int64_t first_kh = (h + g.pad) % g.stride, first_kw = (w + g.pad) % g.stride;
  const std::int64_t taps_h = first_kh < g.kh ? gemm::CeilDiv(g.kh - first_kh, g.stride) : 0;
  const std::int64_t taps_w = first_kw < g.kw ? gemm::CeilDiv(g.kw - first_kw, g.stride) : 0;
  const std::int64_t rows_h = gemm::CeilDiv(g.h - h, g.stride), rows_w = gemm::CeilDiv(g.w - w, g.stride);
  const std::int64_t ld = g.kh * g.kw * g.group_c();
  Class c;
  c.extents = {g.groups, g.n * rows_h * rows_w, g.group_c(), taps_h * taps_w * g.group_o(), /*a_singly=*/true};
  const int inner = static_cast<int>(g.group_o()), across = static_cast<int>(taps_w);
  c.operands.a = {.data = dy,
                  .rows = c.extents.m,
                  .height = static_cast<int>(g.oh),
                  .width = static_cast<int>(g.ow),
                  .channels = static_cast<int>(g.o),
                  .inner = inner,
                  .taps_w = across,
                  .scale = 1,
                  .first_h = static_cast<int>((h + g.pad - first_kh) / g.stride),
                  .first_w = static_cast<int>((w + g.pad - first_kw) / g.stride),
                  .step = -1,
                  .by_inner = By(inner),
                  .by_taps_w = By(across),
                  .rows_h = rows_h,
                  .rows_w = rows_w};
  c.operands.b = {.data = weights + (first_kh * g.kw + first_kw) * g.group_c(),
                  .rows = g.group_c(),
                  .ld = ld,
                  .inner = inner,
                  .taps_w = across,
                  .step_w = g.stride * g.group_c(),
                  .step_h = g.stride * g.kw * g.group_c(),
                  .by_inner = By(inner),
                  .by_taps_w = By(across)};
  c.operands.rows = {.group_channels = g.group_c(),
                     .channels = g.c,
                     .width = g.w,
                     .image = g.h * g.w * g.c,
                     .rows_h = rows_h,
                     .rows_w = rows_w,
                     .first = (h * g.w + w) * g.c,
                     .step_h = g.stride * g.w * g.c,
                     .step_w = g.stride * g.c};
  c.operands.out = dx;
  c.operands.vector_out = g.group_c() % 4 == 0;
  return c;
}

bool WholeTaps(const Class& c) { return WholeTaps(c.operands.a) && c.operands.b.rows % 4 == 0; }

}  // namespace

void Run_conv2d(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return digits::Conv2d(args, context);
  const Geometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const float *x = args.In<float>(0), *weights = args.In<float>(1);
  float* y = args.Out<float>(0);
  if (IsProduct(g)) return Product(g.n * g.h * g.w, g.o, g.c, false, true, x, weights, y, context);
  CheckCounts(g);
  const gemm::Extents extents{g.groups, g.n * g.oh * g.ow, g.group_o(), g.kh * g.kw * g.group_c()};
  if (extents.batch == 0 || extents.m == 0 || extents.n == 0) return;
  const int inner = static_cast<int>(g.group_c());
  const gemm::Operands<gemm::TapImages, gemm::Matrix, gemm::PlainRows> operands{
      .a = {.data = x,
            .rows = extents.m,
            .height = static_cast<int>(g.h),
            .width = static_cast<int>(g.w),
            .channels = static_cast<int>(g.c),
            .inner = inner,
            .taps_w = static_cast<int>(g.kw),
            .scale = static_cast<int>(g.stride),
            .first_h = static_cast<int>(-g.pad),
            .first_w = static_cast<int>(-g.pad),
            .step = 1,
            .by_inner = By(inner),
            .by_taps_w = By(g.kw),
            .rows_h = g.oh,
            .rows_w = g.ow},
      .b = {weights, g.group_o(), extents.k, g.group_o() * extents.k},
      .rows = {g.o, g.group_o()},
      .out = y,
      .vector_out = g.group_o() % 4 == 0};
  if (WholeTaps(operands.a)) {
    gemm::Launch<TapImages<true>, Weights>(operands, extents, context);
  } else {
    gemm::Launch<TapImages<false>, Weights>(operands, extents, context);
  }
}

void Run_conv2d_grad_x(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return digits::Conv2dGradX(args, context);
  const Geometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const float *dy = args.In<float>(0), *weights = args.In<float>(1);
  float* dx = args.Out<float>(0);
  if (IsProduct(g)) return Product(g.n * g.h * g.w, g.c, g.o, false, false, dy, weights, dx, context);
  if (g.n == 0 || g.h == 0 || g.w == 0 || g.c == 0) return;
  CheckCounts(g);
  std::vector<Class> classes;
  std::size_t bytes = 0;
  for (std::int64_t h = 0; h < std::min(g.stride, g.h); ++h) {
    for (std::int64_t w = 0; w < std::min(g.stride, g.w); ++w) {
      Class c = ClassAt(g, h, w, dy, weights, dx);
      c.choice = gemm::Choose(c.extents, WholeTaps(c) ? gemm::kUngroupedTiles : kRareTiles, context);
      bytes = std::max(bytes, gemm::ScratchBytes(c.extents, c.choice));
      classes.push_back(c);
    }
  }
  // The classes run one after the other, so that they can share the scratch memory.
  float* const scratch = bytes > 0 ? static_cast<float*>(context.Scratch(bytes)) : nullptr;
  for (const Class& c : classes) {
    if (WholeTaps(c)) {
      gemm::Launch<TapImages<true>, TapWeights<true>>(c.operands, c.extents, c.choice, scratch, context.stream());
    } else {
      gemm::Launch<TapImages<false>, TapWeights<false>>(c.operands, c.extents, c.choice, scratch, context.stream());
    }
  }
}

void Run_conv2d_grad_w(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return digits::Conv2dGradW(args, context);
  const Geometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const float *x = args.In<float>(0), *dy = args.In<float>(1);
  float* dw = args.Out<float>(0);
  if (IsProduct(g)) return Product(g.o, g.c, g.n * g.h * g.w, true, false, dy, x, dw, context);
  CheckCounts(g);
  const gemm::Extents extents{g.groups, g.group_o(), g.kh * g.kw * g.group_c(), g.n * g.oh * g.ow};
  if (extents.batch == 0 || extents.m == 0 || extents.n == 0) return;
  const gemm::Operands<gemm::Matrix, gemm::WindowImages, gemm::PlainRows> operands{.a = {dy, g.group_o(), g.o, g.group_o()},
                                                                                   .b = {.data = x,
                                                                                         .rows = extents.n,
                                                                                         .height = static_cast<int>(g.h),
                                                                                         .width = static_cast<int>(g.w),
                                                                                         .channels = static_cast<int>(g.c),
                                                                                         .inner = static_cast<int>(g.group_c()),
                                                                                         .taps_w = static_cast<int>(g.kw),
                                                                                         .stride = static_cast<int>(g.stride),
                                                                                         .pad = static_cast<int>(g.pad),
                                                                                         .by_ow = By(g.ow),
                                                                                         .by_oh = By(g.oh)},
                                                                                   .rows = {extents.n, extents.m * extents.n},
                                                                                   .out = dw,
                                                                                   .vector_out = extents.n % 4 == 0};
  if (g.group_o() % 4 != 0) {
    gemm::Launch<SingleRows, WindowImages<1>>(operands, extents, context);
  } else if (g.group_c() % 4 != 0) {
    gemm::Launch<AlongRows<4>, WindowImages<1>>(operands, extents, context);
  } else {
    gemm::Launch<AlongRows<4>, WindowImages<4>>(operands, extents, context);
  }
}

}  // namespace assay::cuda
