// attention: a thread block owns some queries of one head and walks their visible keys in the contract's blocks of 64, ascending. A thread
// holds kR queries x 8 keys of the scores and kR queries x kWidth / 8 columns of the output; probabilities pass through shared memory inside
// a warp. Every sum over d or over keys is one chain in one register, ascending.
#include <algorithm>
#include <limits>

#include "assay/backend/cuda/attention-inl.h"
#include "assay/backend/cuda/kernels.h"

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

template <class Shape, bool kExact, bool kDropout>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks) ForwardKernel(const Forward a) {
  constexpr int kWidth = Shape::kWidth, kR = Shape::kR, kC = kWidth / 32;
  const Geometry& g = a.g;
  extern __shared__ float4 shared[];
  float* const qs = reinterpret_cast<float*>(shared);
  float* const ks = qs + Shape::kRows * kWidth;
  float* const vs = Shape::kShared ? ks : ks + kKeyBlock * kWidth;
  float* const ps = vs + kKeyBlock * kWidth;

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int x = lane % 8, y = lane / 8;
  const int d = kExact ? kWidth : static_cast<int>(g.d);
  const std::int64_t b = blockIdx.x / g.hq, h = blockIdx.x % g.hq;
  const std::int64_t first_row = (gridDim.y - 1 - blockIdx.y) * std::int64_t{Shape::kRows};  // the longest first
  const std::int64_t keys = g.Visible(std::min<std::int64_t>(first_row + Shape::kRows, g.tq) - 1);
  const float* const k_head = a.k + g.KeyRow(b, 0, g.KeyHead(h));
  const float* const v_head = a.v + g.KeyRow(b, 0, g.KeyHead(h));
  const std::int64_t key_stride = g.hkv * g.d;
  const auto load_keys = [&](float* tile, const float* head, std::int64_t first) {
    LoadTile<kWidth, kKeyBlock, Shape::kThreads, 4, 8, kExact>(tile, head + first * key_stride, key_stride,
                                                       static_cast<int>(std::min<std::int64_t>(g.tk - first, kKeyBlock)), d);
  };

  // The warp's rows; those at and after the end see what the last one sees, and are not stored.
  const std::int64_t warp_row = first_row + warp * Shape::kWarpRows;
  const auto visible = [&](std::int64_t i) { return g.Visible(std::min<std::int64_t>(i, g.tq - 1)); };
  const std::int64_t warp_keys = warp_row < g.tq ? visible(warp_row + Shape::kWarpRows - 1) : 0;
  const std::int64_t common_keys = visible(warp_row);
  const float* const q_rows = qs + (warp * Shape::kWarpRows + Shape::Row(y, 0)) * kWidth;
  float* const p_rows = ps + (warp * Shape::kWarpRows + Shape::Row(y, 0)) * kKeyBlock;

  float m = -std::numeric_limits<float>::infinity(), l = 0.0f;  // of the thread's own row
  float o[kR][kC][4] = {};

  LoadTile<kWidth, Shape::kRows, Shape::kThreads, Shape::kTwist, 4, kExact>(
      qs, a.q + g.QueryRow(b, first_row, h), g.hq * g.d,
      static_cast<int>(std::min<std::int64_t>(g.tq - first_row, Shape::kRows)), d);
  load_keys(ks, k_head, 0);
  WaitForCopies();
  __syncthreads();
  if (!Shape::kShared) load_keys(vs, v_head, 0);

  for (std::int64_t first = 0; first < keys; first += kKeyBlock) {
    const bool active = first < warp_keys;
    const bool masked = first + kKeyBlock > common_keys;
    float s[kR][2][4] = {};
    if (active) {
      const auto product = [&](int unit, int count) {
        float qf[kR][4];
#pragma unroll
        for (int r = 0; r < kR; ++r) Load4(qf[r], q_rows + (Shape::Row(0, r))*kWidth + 4 * (unit ^ y));
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int c = 0; c < 4; ++c) {
            float kf[4];
            Load4(kf, ks + (4 * x + c + 32 * n) * kWidth + 4 * (unit ^ x));
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              if (e < count) {
#pragma unroll
                for (int r = 0; r < kR; ++r) s[r][n][c] = __fmaf_rn(qf[r][e], kf[e], s[r][n][c]);
              }
            }
          }
        }
      };
#pragma unroll(Shape::kUnroll)
      for (int unit = 0; unit < d / 4; ++unit) product(unit, 4);
      if (!kExact && d % 4 != 0) product(d / 4, d % 4);
    }
    if (Shape::kShared) {
      __syncthreads();
      load_keys(vs, v_head, first);
    }

    float alpha = 1.0f;  // of the own row
    if (active) {
#pragma unroll
      for (int r = 0; r < kR; ++r) {
#pragma unroll
        for (int c = 0; c < 8; ++c) s[r][c / 4][c % 4] = __fmul_rn(s[r][c / 4][c % 4], g.scale);
      }
      // A hidden score of -inf changes no maximum, and its probability is +0 unless the whole row is NaN.
      if (masked) {
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          const int limit = static_cast<int>(std::min<std::int64_t>(visible(warp_row + Shape::Row(y, r)) - first, kKeyBlock));
#pragma unroll
          for (int c = 0; c < 8; ++c) {
            if (4 * x + c % 4 + 32 * (c / 4) >= limit) s[r][c / 4][c % 4] = -std::numeric_limits<float>::infinity();
          }
        }
      }
      float top[kR][1];
#pragma unroll
      for (int r = 0; r < kR; ++r) {
        top[r][0] = s[r][0][0];
#pragma unroll
        for (int c = 1; c < 8; ++c) top[r][0] = MaxOrNan(top[r][0], s[r][c / 4][c % 4]);
      }
      ReduceRows(top, [](float u, float w) { return MaxOrNan(u, w); });
      const float n = MaxOrNan(m, top[0][0]);
      alpha = ExpSmall(__fsub_rn(m, n));
      m = n;

      float sum[kR][4];
#pragma unroll
      for (int r = 0; r < kR; ++r) {
        const float row_n = FromOwner<kR>(n, r);
#pragma unroll
        for (int c = 0; c < 8; ++c) s[r][c / 4][c % 4] = ExpSmall(__fsub_rn(s[r][c / 4][c % 4], row_n));
#pragma unroll
        for (int c = 0; c < 4; ++c) sum[r][c] = __fadd_rn(s[r][0][c], s[r][1][c]);
      }
      ReduceRows(sum, [](float u, float w) { return __fadd_rn(u, w); });
      const float total = __fadd_rn(__fadd_rn(sum[0][0], sum[0][2]), __fadd_rn(sum[0][1], sum[0][3]));
      l = __fmaf_rn(l, alpha, total);

      if (kDropout && (kExact || g.dropout > 0)) {
        const Mask mask(a.dropout, a.rng);
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          const std::int64_t element = g.Element(b, h, warp_row + Shape::Row(y, r), first + 4 * x);
#pragma unroll
          for (int n2 = 0; n2 < 2; ++n2) {
            float keep[4];
            mask.Keep(element + 32 * n2, keep);
#pragma unroll
            for (int c = 0; c < 4; ++c) s[r][n2][c] = __fmul_rn(s[r][n2][c], keep[c]);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < kR; ++r) {
#pragma unroll
        for (int n2 = 0; n2 < 2; ++n2) Store4(p_rows + Shape::Row(0, r) * kKeyBlock + 4 * ((x + 8 * n2) ^ y), s[r][n2]);
      }
    }
    WaitForCopies();
    __syncthreads();
    if (!Shape::kShared && first + kKeyBlock < keys) load_keys(ks, k_head, first + kKeyBlock);

    if (active) {
#pragma unroll
      for (int r = 0; r < kR; ++r) {
        const float row_alpha = FromOwner<kR>(alpha, r);
#pragma unroll
        for (int c = 0; c < 4 * kC; ++c) o[r][c / 4][c % 4] = __fmul_rn(o[r][c / 4][c % 4], row_alpha);
      }
      const auto product = [&](int unit, const auto& takes) {
        float pf[kR][4];
#pragma unroll
        for (int r = 0; r < kR; ++r) Load4(pf[r], p_rows + Shape::Row(0, r) * kKeyBlock + 4 * (unit ^ y));
#pragma unroll
        for (int e = 0; e < 4; ++e) {
#pragma unroll
          for (int n = 0; n < kC; ++n) {
            float vf[4];
            Load4(vf, vs + (4 * unit + e) * kWidth + 4 * ((x ^ (unit % 8)) + 8 * n));
#pragma unroll
            for (int r = 0; r < kR; ++r) {
              if (takes(r, 4 * unit + e)) {
#pragma unroll
                for (int c = 0; c < 4; ++c) o[r][n][c] = __fmaf_rn(pf[r][e], vf[c], o[r][n][c]);
              }
            }
          }
        }
      };
      if (!masked) {
#pragma unroll(Shape::kUnroll)
        for (int unit = 0; unit < kKeyBlock / 4; ++unit) product(unit, [](int, int) { return true; });
      } else {
        int limit[kR];
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          limit[r] = static_cast<int>(std::min<std::int64_t>(visible(warp_row + Shape::Row(y, r)) - first, kKeyBlock));
        }
        const int end = static_cast<int>(std::min<std::int64_t>(warp_keys - first, kKeyBlock));
#pragma unroll 1
        for (int unit = 0; 4 * unit < end; ++unit) product(unit, [&](int r, int j) { return j < limit[r]; });
      }
    }
    if (Shape::kShared) {
      __syncthreads();
      if (first + kKeyBlock < keys) load_keys(ks, k_head, first + kKeyBlock);
    }
    WaitForCopies();
    __syncthreads();
    if (!Shape::kShared && first + kKeyBlock < keys) load_keys(vs, v_head, first + kKeyBlock);
  }

  const float lse = Device::Canonical(__fadd_rn(m, nd::Log<Device>(l)));
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const float row_l = FromOwner<kR>(l, r), row_lse = FromOwner<kR>(lse, r);
    const std::int64_t i = warp_row + Shape::Row(y, r);
    if (i >= g.tq) continue;
    if (x == 0) a.lse[g.Lse(b, h, i)] = row_lse;
    float* const out = a.o + g.QueryRow(b, i, h);
#pragma unroll
    for (int n = 0; n < kC; ++n) {
      float result[4];
#pragma unroll
      for (int c = 0; c < 4; ++c) result[c] = Device::Canonical(__fdiv_rn(o[r][n][c], row_l));
      const int column = 4 * (x + 8 * n);
      if (kExact || d % 4 == 0) {
        if (column < d) Store4(out + column, result);
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          if (column + c < d) out[column + c] = result[c];
        }
      }
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

// `Large` where its tiles are enough to fill the device, `Small` elsewhere.
template <class Large, class Small>
void Choose(const Forward& a, Context& context) {
  const std::int64_t blocks = a.g.batch * a.g.hq * ((a.g.tq + Large::kRows - 1) / Large::kRows);
  const bool large = blocks >= 2 * context.multiprocessors() && Large::kBytes <= context.max_shared_bytes();
  if (a.g.d != Large::kWidth) return Launch<Small, false, true>(a, context);
  if (a.g.dropout > 0) return large ? Launch<Large, true, true>(a, context) : Launch<Small, true, true>(a, context);
  return large ? Launch<Large, true, false>(a, context) : Launch<Small, true, false>(a, context);
}

}  // namespace
}  // namespace attention

void Run_attention(const KernelArgs& args, Context& context) {
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
  if (a.g.d <= 32) return Choose<ForwardShape<32, 8, 4, 2>, ForwardShape<32, 2, 4, 1>>(a, context);
  if (a.g.d <= 64) return Choose<ForwardShape<64, 8, 4, 2>, ForwardShape<64, 2, 4, 1>>(a, context);
  if (a.g.d <= 128) return Choose<ForwardShape<128, 4, 4, 2>, ForwardShape<128, 2, 4, 1>>(a, context);
  return Launch<ForwardShape<256, 2, 2, 1, true>, false, true>(a, context);
}

}  // namespace assay::cuda
