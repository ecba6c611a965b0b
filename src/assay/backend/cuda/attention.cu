// attention: a thread block owns some queries of one head and walks their visible keys in the contract's blocks of 64,
// ascending. A thread holds kR queries x 8 keys of the scores and kR queries x kWidth / 8 columns of the output; probabilities
// pass through shared memory inside a warp. Every sum over d or over keys is one chain in one register, ascending.
#include <algorithm>
#include <limits>

#include "assay/backend/cuda/attention-inl.h"
#include "assay/backend/cuda/digit_ops.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/base/check.h"
#include "assay/ops/digits.h"

namespace assay::cuda {
namespace attention {
namespace {

struct Forward {
  Geometry g;
  Dropout dropout;
  const float* q;
  const float* k;
  const float* v;
  const std::uint32_t* rng;
  float* o;
  float* lse;
};

// kWidth: d, or at least d. kR: queries of a thread. kShared: keys and values take turns in one tile.
template <int kWidth_, int kR_, int kWarps_, int kBlocks_, bool kShared_ = false, int kUnroll_ = 2>
struct ForwardShape {
  static constexpr int kWidth = kWidth_, kR = kR_, kWarps = kWarps_;
  static constexpr bool kShared = kShared_;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kWarpRows = 4 * kR;
  static constexpr int kRows = kWarpRows * kWarps;
  static constexpr int kTwist = kR < 4 ? kR : 4;  // of the queries' tile and the probabilities': a warp reads four rows at once
  static constexpr int kFloats = kRows * kWidth + (kShared ? 1 : 2) * kKeyBlock * kWidth + kRows * kKeyBlock;
  static constexpr int kBytes = 4 * kFloats;
  static constexpr int kBlocks = kBlocks_;  // of a multiprocessor, at least
  static constexpr int kUnroll = kUnroll_;  // of the products

  // Of row r of a thread of row y of the warp's grid.
  static __device__ constexpr int Row(int y, int r) { return kTwist * y + r % kTwist + 4 * kTwist * (r / kTwist); }
};

// Turns the scores of a block into probabilities and moves the running maximum and sum of the thread's own row on; returns
// their alpha. Keys at limit(r) and after are hidden: a score of -inf changes no maximum, and its probability is +0 unless the
// whole row is NaN.
template <int kR, class Limit>
__device__ __forceinline__ float Softmax(float (&s)[kR][2][4], float scale, bool masked, const Limit& limit, float& m,
                                         float& l) {
#pragma unroll
  for (int r = 0; r < kR; ++r) {
#pragma unroll
    for (int c = 0; c < 8; ++c) s[r][c / 4][c % 4] = __fmul_rn(s[r][c / 4][c % 4], scale);
  }
  if (masked) {
#pragma unroll
    for (int r = 0; r < kR; ++r) {
      const int end = limit(r) - 4 * GridX();
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        if (c % 4 + 32 * (c / 4) >= end) s[r][c / 4][c % 4] = -std::numeric_limits<float>::infinity();
      }
    }
  }
  float top[kR][1], sum[kR][4];
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    top[r][0] = s[r][0][0];
#pragma unroll
    for (int c = 1; c < 8; ++c) top[r][0] = MaxOrNan(top[r][0], s[r][c / 4][c % 4]);
  }
  ReduceRows(top, [](float u, float v) { return MaxOrNan(u, v); });
  const float n = MaxOrNan(m, top[0][0]);
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const float row_n = FromOwner<kR>(n, r);
#pragma unroll
    for (int c = 0; c < 8; ++c) s[r][c / 4][c % 4] = ExpSmall(__fsub_rn(s[r][c / 4][c % 4], row_n));
    // Lane 4x + c of rowsum holds positions 4x + c and 32 further on; the lanes' halving goes over x first, then over c.
#pragma unroll
    for (int c = 0; c < 4; ++c) sum[r][c] = __fadd_rn(s[r][0][c], s[r][1][c]);
  }
  ReduceRows(sum, [](float u, float v) { return __fadd_rn(u, v); });
  const float total = __fadd_rn(__fadd_rn(sum[0][0], sum[0][2]), __fadd_rn(sum[0][1], sum[0][3]));
  const float alpha = ExpSmall(__fsub_rn(m, n));
  l = __fmaf_rn(l, alpha, total);
  m = n;
  return alpha;
}

template <class Shape, bool kExact, bool kDropout>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks) ForwardKernel(const Forward a) {
  constexpr int kWidth = Shape::kWidth, kR = Shape::kR, kC = kWidth / 32;
  const Geometry& g = a.g;
  extern __shared__ float4 shared[];
  float* const qs = reinterpret_cast<float*>(shared);
  float* const ks = qs + Shape::kRows * kWidth;
  float* const vs = Shape::kShared ? ks : ks + kKeyBlock * kWidth;
  float* const ps = vs + kKeyBlock * kWidth;

  const int x = GridX(), y = GridY(), row_twist = Twist(y);
  const int d = kExact ? kWidth : static_cast<int>(g.d), tq = static_cast<int>(g.tq), tk = static_cast<int>(g.tk);
  const std::int64_t b = blockIdx.x / g.hq, h = blockIdx.x % g.hq;
  // Queries at and after the end see what the last one sees, and are not stored.
  const auto visible = [&](int i) { return static_cast<int>(g.Visible(Least(i, tq - 1))); };
  const int first_row = static_cast<int>(gridDim.y - 1 - blockIdx.y) * Shape::kRows;  // the longest first
  const int keys = visible(first_row + Shape::kRows - 1);
  const auto load_keys = [&](float* tile, const float* of, int first) {
    LoadTile<kWidth, kKeyBlock, Shape::kThreads, 4, 8, kExact>(tile, of + g.KeyRow(b, first, g.KeyHead(h)), g.hkv * g.d,
                                                               Least(tk - first, kKeyBlock), d);
  };

  const int local_row = static_cast<int>(threadIdx.x) / 32 * Shape::kWarpRows;  // of the warp
  const int warp_row = first_row + local_row;
  const int warp_keys = warp_row < tq ? visible(warp_row + Shape::kWarpRows - 1) : 0;
  const int common_keys = visible(warp_row);
  const auto q_row = [&](int r) { return qs + (local_row + Shape::Row(y, 0)) * kWidth + Shape::Row(0, r) * kWidth; };
  const auto p_row = [&](int r) { return ps + (local_row + Shape::Row(y, 0)) * kKeyBlock + Shape::Row(0, r) * kKeyBlock; };

  float m = -std::numeric_limits<float>::infinity(), l = 0.0f;  // of the thread's own row
  float o[kR][kC][4] = {};

  LoadTile<kWidth, Shape::kRows, Shape::kThreads, Shape::kTwist, 4, kExact>(qs, a.q + g.QueryRow(b, first_row, h), g.hq * g.d,
                                                                            Least(tq - first_row, Shape::kRows), d);
  load_keys(ks, a.k, 0);
  WaitForCopies();
  __syncthreads();
  if (!Shape::kShared) load_keys(vs, a.v, 0);

  for (int first = 0; first < keys; first += kKeyBlock) {
    const bool active = first<warp_keys, masked = first + kKeyBlock> common_keys;
    const auto limit = [&](int r) { return visible(warp_row + Shape::Row(y, r)) - first; };
    float s[kR][2][4] = {};
    if (active) ChainOverWidth<kWidth, kExact, Shape::kUnroll>(s, q_row, row_twist, ks, d);
    if (Shape::kShared) {
      __syncthreads();
      load_keys(vs, a.v, first);
    }
    float alpha = 1.0f;  // of the own row
    if (active) {
      alpha = Softmax(s, g.scale, masked, limit, m, l);
#pragma unroll
      for (int r = 0; r < kR; ++r) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          if (kDropout && (kExact || g.dropout > 0)) {
            float keep[4];
            Mask(a.dropout, a.rng).Keep(g.Element(b, h, warp_row + Shape::Row(y, r), first + 4 * x + 32 * n), keep);
#pragma unroll
            for (int c = 0; c < 4; ++c) s[r][n][c] = __fmul_rn(s[r][n][c], keep[c]);
          }
          Store4(p_row(r) + 4 * (x ^ row_twist) + 32 * n, s[r][n]);
        }
      }
    }
    WaitForCopies();
    __syncthreads();
    if (!Shape::kShared && first + kKeyBlock < keys) load_keys(ks, a.k, first + kKeyBlock);

    if (active) {
#pragma unroll
      for (int r = 0; r < kR; ++r) {
        const float row_alpha = FromOwner<kR>(alpha, r);
#pragma unroll
        for (int c = 0; c < 4 * kC; ++c) o[r][c / 4][c % 4] = __fmul_rn(o[r][c / 4][c % 4], row_alpha);
      }
      if (!masked) {
        ChainOverKeys<kWidth, Shape::kUnroll>(o, p_row, row_twist, vs, kKeyBlock / 4, [](int, int) { return true; });
      } else {
        int end[kR];
#pragma unroll
        for (int r = 0; r < kR; ++r) end[r] = limit(r);
        ChainOverKeys<kWidth, 1>(o, p_row, row_twist, vs, (Least(warp_keys - first, kKeyBlock) + 3) / 4,
                                 [&](int r, int j) { return j < end[r]; });
      }
    }
    if (Shape::kShared) {
      __syncthreads();
      if (first + kKeyBlock < keys) load_keys(ks, a.k, first + kKeyBlock);
    }
    WaitForCopies();
    __syncthreads();
    if (!Shape::kShared && first + kKeyBlock < keys) load_keys(vs, a.v, first + kKeyBlock);
  }

  const float lse = Device::Canonical(__fadd_rn(m, nd::Log<Device>(l)));
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const float row_l = FromOwner<kR>(l, r), row_lse = FromOwner<kR>(lse, r);
    const int i = warp_row + Shape::Row(y, r);
    if (i >= tq) continue;
    if (x == 0) a.lse[g.Lse(b, h, i)] = row_lse;
#pragma unroll
    for (int n = 0; n < kC; ++n) {
      float quotient[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) quotient[c] = __fdiv_rn(o[r][n][c], row_l);
      StoreColumns(a.o + g.QueryRow(b, i, h), 4 * (x + 8 * n), d, quotient);
    }
  }
}

template <class Shape, bool kExact, bool kDropout>
void Launch(const Forward& a, Context& context) {
  const auto kernel = ForwardKernel<Shape, kExact, kDropout>;
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kBytes), "attention");
  const dim3 grid(static_cast<unsigned>(a.g.batch * a.g.hq), static_cast<unsigned>((a.g.tq + Shape::kRows - 1) / Shape::kRows));
  kernel<<<grid, Shape::kThreads, Shape::kBytes, context.stream()>>>(a);
  CheckLaunch("attention");
}

template <class Large, class Small>
void Choose(const Forward& a, Context& context) {
  const std::int64_t blocks = a.g.batch * a.g.hq * ((a.g.tq + Large::kRows - 1) / Large::kRows);
  WithShape<Large, Small>(a.g, blocks, context,
                          [&]<class Shape, bool exact, bool dropout>() { Launch<Shape, exact, dropout>(a, context); });
}

}  // namespace
}  // namespace attention

void Run_attention(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return digits::Attention(args, context);
  using namespace attention;
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const Forward a{.g = g,
                  .dropout = Dropout(g),
                  .q = args.In<float>(0),
                  .k = args.In<float>(1),
                  .v = args.In<float>(2),
                  .rng = args.In<std::uint32_t>(3),
                  .o = args.Out<float>(0),
                  .lse = args.Out<float>(1)};
  ASSAY_CHECK(g.tq <= kMaxLength && g.tk <= kMaxLength);
  if (g.d <= 32) return Choose<ForwardShape<32, 4, 4, 4, false, 1>, ForwardShape<32, 2, 4, 1>>(a, context);
  if (g.d <= 64) return Choose<ForwardShape<64, 4, 4, 3, false, 1>, ForwardShape<64, 2, 4, 1>>(a, context);
  if (g.d <= 128) return Choose<ForwardShape<128, 4, 4, 2>, ForwardShape<128, 2, 4, 1>>(a, context);
  return Launch<ForwardShape<256, 2, 2, 1, true>, false, true>(a, context);
}

}  // namespace assay::cuda
