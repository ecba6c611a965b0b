// attention and attention_grad by digits. Rows of q, k, v and do are cut into digits once, over the width, and kept both as they lie and across, in blocks of
// 64 positions. One warp then computes a row of a result: a lane has two positions of a block when weights are made, and some columns when rows are summed.
#include <algorithm>
#include <limits>

#include "assay/backend/cuda/attention-inl.h"
#include "assay/backend/cuda/digit_gemm.h"
#include "assay/backend/cuda/digit_ops.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/ops/digits.h"

namespace assay::cuda::digits {
namespace {

using attention::Dropout;
using attention::Geometry;
using attention::kKeyBlock;
using numerics::device::Device;
namespace nd = numerics::device;

constexpr int kMostWidth = 256;
constexpr int kWarps = 4;

// The rows of one tensor [batch, time, heads, d], head by head: row (b · heads + h) · time + t. Of digit p, value e of row r is at along[(p · rows + r) · width
// + e], and at across[((p · blocks + block) · width + e) · 64 + place], blocks being counted head by head, too.
struct HeadDigits {
  std::int8_t *along = nullptr, *across = nullptr;
  float* scales = nullptr;
  std::int64_t time = 0, heads = 0, rows = 0, blocks = 0;
  int width = 0;  // d, filled up with zeros to whole words of 16 bytes

  __device__ std::int64_t Row(std::int64_t b, std::int64_t h, std::int64_t t) const { return (b * heads + h) * time + t; }
  __device__ std::int64_t Block(std::int64_t b, std::int64_t h, std::int64_t block) const {
    return (b * heads + h) * ((time + 63) / 64) + block;
  }
};

HeadDigits TakeHeads(Scratch& scratch, const Geometry& g, std::int64_t time, std::int64_t heads, int n) {
  HeadDigits t{.time = time, .heads = heads, .rows = g.batch * heads * time, .blocks = g.batch * heads * ((time + 63) / 64)};
  t.width = static_cast<int>((g.d + 15) / 16 * 16);
  t.along = scratch.Take<std::int8_t>(n * t.rows * t.width);
  t.across = scratch.Take<std::int8_t>(n * t.blocks * t.width * 64);
  t.scales = scratch.Take<float>(t.rows);
  return t;
}

// One warp for each row; places of a block beyond the last row become 0.
template <int n>
__global__ void CutHeads(const float* x, int d, HeadDigits out) {
  const int lane = threadIdx.x % 32;
  const std::int64_t warps = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t w = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32; w < out.blocks * 64; w += warps) {
    const std::int64_t per_head = (out.time + 63) / 64, t = w / 64 % per_head * 64 + w % 64, head = w / 64 / per_head;
    const bool real = t < out.time;
    const std::int64_t b = head / out.heads, h = head % out.heads;
    const float* const from = x + ((b * out.time + t) * out.heads + h) * d;
    float value[kMostWidth / 32];
    std::uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < kMostWidth / 32; ++i) {
      value[i] = real && lane + 32 * i < d ? __ldg(from + lane + 32 * i) : 0.0f;
      largest = max(largest, __float_as_uint(value[i]) & 0x7fffffffu);
    }
    const std::uint32_t exponent = numerics::DigitExponent(__reduce_max_sync(0xffffffffu, largest));
    const float factor = numerics::DigitFactor(exponent, n);
    const std::int64_t row = head * out.time + t;
#pragma unroll
    for (int i = 0; i < kMostWidth / 32; ++i) {
      const int e = lane + 32 * i;
      if (e >= out.width) continue;
      const std::uint32_t bytes = exponent == 0 ? 0 : numerics::DigitBytes(__float2int_rn(__fmul_rn(value[i], factor)));
#pragma unroll
      for (int p = 0; p < n; ++p) {
        const auto byte = static_cast<std::int8_t>(bytes >> (8 * p));
        if (real) out.along[(p * out.rows + row) * out.width + e] = byte;
        out.across[((p * out.blocks + w / 64) * out.width + e) * 64 + w % 64] = byte;
      }
    }
    if (lane == 0 && real) out.scales[row] = numerics::DigitScale(exponent, n);
  }
}

template <int n>
void CutRowsOf(const float* x, const Geometry& g, const HeadDigits& out, Context& context) {
  CutHeads<n><<<GridFor(out.blocks * 64, kWarps), 32 * kWarps, 0, context.stream()>>>(x, static_cast<int>(g.d), out);
  CheckLaunch("digits of attention");
}

// Sums of products of digits by orders, four values at a time.
template <int n>
struct Orders {
  std::int32_t sum[n] = {};
  __device__ __forceinline__ void Add(const int (&a)[n], const int (&b)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) {
#pragma unroll
      for (int j = n - 1 - i; j < n; ++j) sum[2 * (n - 1) - i - j] = __dp4a(a[i], b[j], sum[2 * (n - 1) - i - j]);
    }
  }
  __device__ __forceinline__ float Joined() const {
    const std::int32_t upper = 256 * sum[0] + sum[1];
    return n == 3 ? numerics::JoinThree(upper, sum[n - 1]) : numerics::JoinTwo(upper);
  }
};

// The product of two rows of digits, by their scales.
template <int n>
__device__ __forceinline__ float DotRows(const HeadDigits& a, std::int64_t row_a, const HeadDigits& b, std::int64_t row_b) {
  Orders<n> orders;
  for (int e = 0; e < a.width; e += 16) {
    uint4 x[n], y[n];
#pragma unroll
    for (int p = 0; p < n; ++p) {
      x[p] = __ldg(reinterpret_cast<const uint4*>(a.along + (p * a.rows + row_a) * a.width + e));
      y[p] = __ldg(reinterpret_cast<const uint4*>(b.along + (p * b.rows + row_b) * b.width + e));
    }
#pragma unroll
    for (int word = 0; word < 4; ++word) {
      int u[n], v[n];
#pragma unroll
      for (int p = 0; p < n; ++p) {
        u[p] = static_cast<int>((&x[p].x)[word]);
        v[p] = static_cast<int>((&y[p].x)[word]);
      }
      orders.Add(u, v);
    }
  }
  return __fmul_rn(orders.Joined(), __fmul_rn(__ldg(a.scales + row_a), __ldg(b.scales + row_b)));
}

__device__ __forceinline__ float WarpMax(float x) {
#pragma unroll
  for (int h = 16; h > 0; h /= 2) x = attention::MaxOrNan(x, __shfl_xor_sync(0xffffffffu, x, h));
  return x;
}
// The lanes of rowsum, halved.
__device__ __forceinline__ float HalveLanes(float x) {
#pragma unroll
  for (int h = 16; h > 0; h /= 2) x = __fadd_rn(x, __shfl_xor_sync(0xffffffffu, x, h));
  return x;
}

// A block's weights as digits in shared memory, 64 bytes each, and their scale.
template <int n>
struct Weights {
  std::int8_t* bytes;  // n · 64, of this warp
  float scale = 0;

  // Weight `lane` and weight 32 + lane; hidden ones take no part.
  __device__ __forceinline__ void Cut(const float (&w)[2], const bool (&visible)[2]) {
    const int lane = threadIdx.x % 32;
    std::uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) largest = max(largest, visible[i] ? __float_as_uint(w[i]) & 0x7fffffffu : 0u);
    const std::uint32_t exponent = numerics::DigitExponent(__reduce_max_sync(0xffffffffu, largest));
    const float factor = numerics::DigitFactor(exponent, n);
    scale = numerics::DigitScale(exponent, n);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t digits =
          exponent == 0 || !visible[i] ? 0 : numerics::DigitBytes(__float2int_rn(__fmul_rn(w[i], factor)));
#pragma unroll
      for (int p = 0; p < n; ++p) bytes[p * 64 + 32 * i + lane] = static_cast<std::int8_t>(digits >> (8 * p));
    }
    __syncwarp();
  }
  // total + what these weights make of column e of the rows of a block.
  __device__ __forceinline__ float After(const HeadDigits& rows, std::int64_t block, int e, float total) const {
    Orders<n> orders;
#pragma unroll
    for (int k = 0; k < 64; k += 16) {
      uint4 x[n], y[n];
#pragma unroll
      for (int p = 0; p < n; ++p) {
        x[p] = *reinterpret_cast<const uint4*>(bytes + p * 64 + k);
        y[p] = __ldg(reinterpret_cast<const uint4*>(rows.across + ((p * rows.blocks + block) * rows.width + e) * 64 + k));
      }
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        int u[n], v[n];
#pragma unroll
        for (int p = 0; p < n; ++p) {
          u[p] = static_cast<int>((&x[p].x)[word]);
          v[p] = static_cast<int>((&y[p].x)[word]);
        }
        orders.Add(u, v);
      }
    }
    return __fmaf_rn(orders.Joined(), scale, total);
  }
};

struct AttentionArgs {
  Geometry g;
  Dropout dropout;
  HeadDigits q{}, k{}, v{}, dy{};
  const std::uint32_t* rng = nullptr;
  const float *o = nullptr, *lse = nullptr, *d_o = nullptr;
  float* delta = nullptr;  // of each query, as lse lies
  float *out = nullptr, *out_lse = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr;
};

// What dropout multiplies the probability of a pair by.
__device__ __forceinline__ float KeepOf(const AttentionArgs& a, std::int64_t b, std::int64_t h, std::int64_t i,
                                        std::int64_t j) {
  const std::uint32_t draw = numerics::DrawU32(numerics::MakeDrawKey(a.rng, a.dropout.stream), a.g.Element(b, h, i, j));
  return draw >= a.dropout.threshold ? a.dropout.factor : 0.0f;
}

template <int n>
__device__ __forceinline__ float ScoreOf(const AttentionArgs& a, std::int64_t b, std::int64_t h, std::int64_t i,
                                         std::int64_t j) {
  return __fmul_rn(DotRows<n>(a.q, a.q.Row(b, h, i), a.k, a.k.Row(b, a.g.KeyHead(h), j)), a.g.scale);
}

// Rows of a warp: query or key `row` of the flat list of them.
template <class F>
__device__ __forceinline__ void EachRow(std::int64_t rows, const F& f) {
  const std::int64_t warps = std::int64_t{gridDim.x} * kWarps;
  for (std::int64_t row = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32; row < rows; row += warps) f(row);
}

template <int n>
__global__ void __launch_bounds__(32 * kWarps) ForwardByDigits(AttentionArgs a) {
  __shared__ __align__(16) std::int8_t staged[kWarps][n * 64];
  const Geometry& g = a.g;
  const int lane = threadIdx.x % 32;
  Weights<n> weights{staged[threadIdx.x / 32]};
  EachRow(g.batch * g.hq * g.tq, [&](std::int64_t row) {
    const std::int64_t i = row % g.tq, h = row / g.tq % g.hq, b = row / (g.tq * g.hq), key_head = g.KeyHead(h);
    float m = -std::numeric_limits<float>::infinity(), l = 0.0f, o[kMostWidth / 32] = {};
    for (std::int64_t first = 0; first < g.Visible(i); first += kKeyBlock) {
      bool visible[2];
      float s[2], w[2];
      float next = m;
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const std::int64_t j = first + 32 * k + lane;
        visible[k] = j < g.Visible(i);
        s[k] = visible[k] ? ScoreOf<n>(a, b, h, i, j) : -std::numeric_limits<float>::infinity();
        next = attention::MaxOrNan(next, s[k]);
      }
      next = WarpMax(next);
      const float alpha = nd::Exp<Device>(__fsub_rn(m, next));
      float lane_sum = 0.0f;
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const std::int64_t j = first + 32 * k + lane;
        float p = visible[k] ? nd::Exp<Device>(__fsub_rn(s[k], next)) : 0.0f;
        if (visible[k]) lane_sum = __fadd_rn(lane_sum, p);
        if (visible[k] && g.dropout > 0) p = __fmul_rn(p, KeepOf(a, b, h, i, j));
        w[k] = visible[k] ? __fmul_rn(p, __ldg(a.v.scales + a.v.Row(b, key_head, j))) : 0.0f;
      }
      l = __fmaf_rn(l, alpha, HalveLanes(lane_sum));
      weights.Cut(w, visible);
      const std::int64_t block = a.v.Block(b, key_head, first / kKeyBlock);
#pragma unroll
      for (int c = 0; c < kMostWidth / 32; ++c) {
        if (lane + 32 * c < g.d) o[c] = weights.After(a.v, block, lane + 32 * c, __fmul_rn(o[c], alpha));
      }
      m = next;
    }
#pragma unroll
    for (int c = 0; c < kMostWidth / 32; ++c) {
      if (lane + 32 * c < g.d) a.out[g.QueryRow(b, i, h) + lane + 32 * c] = Device::Canonical(__fdiv_rn(o[c], l));
    }
    if (lane == 0) a.out_lse[g.Lse(b, h, i)] = Device::Canonical(__fadd_rn(m, nd::Log<Device>(l)));
  });
}

__global__ void __launch_bounds__(32 * kWarps) DeltasByRow(AttentionArgs a) {
  const Geometry& g = a.g;
  const int lane = threadIdx.x % 32;
  EachRow(g.batch * g.hq * g.tq, [&](std::int64_t row) {
    const std::int64_t i = row % g.tq, h = row / g.tq % g.hq, b = row / (g.tq * g.hq), at = g.QueryRow(b, i, h);
    float sum = 0.0f;
    for (std::int64_t d = lane; d < g.d; d += 32) sum = __fmaf_rn(a.d_o[at + d], a.o[at + d], sum);
    sum = HalveLanes(sum);
    if (lane == 0) a.delta[row] = sum;
  });
}

// The probability of a pair, as it is and as dropout leaves it, and the gradient of its score.
struct PairValues {
  float dropped, gradient;
};
template <int n>
__device__ __forceinline__ PairValues PairOf(const AttentionArgs& a, std::int64_t b, std::int64_t h, std::int64_t i,
                                             std::int64_t j) {
  const Geometry& g = a.g;
  const float p = nd::Exp<Device>(__fsub_rn(ScoreOf<n>(a, b, h, i, j), __ldg(a.lse + g.Lse(b, h, i))));
  float dp = DotRows<n>(a.dy, a.dy.Row(b, h, i), a.v, a.v.Row(b, g.KeyHead(h), j)), dropped = p;
  if (g.dropout > 0) {
    const float keep = KeepOf(a, b, h, i, j);
    dp = __fmul_rn(dp, keep);
    dropped = __fmul_rn(p, keep);
  }
  return {dropped, __fmul_rn(__fmul_rn(p, __fsub_rn(dp, a.delta[g.Lse(b, h, i)])), g.scale)};
}

template <int n>
__global__ void __launch_bounds__(32 * kWarps) QueryGradientsByDigits(AttentionArgs a) {
  __shared__ __align__(16) std::int8_t staged[kWarps][n * 64];
  const Geometry& g = a.g;
  const int lane = threadIdx.x % 32;
  Weights<n> weights{staged[threadIdx.x / 32]};
  EachRow(g.batch * g.hq * g.tq, [&](std::int64_t row) {
    const std::int64_t i = row % g.tq, h = row / g.tq % g.hq, b = row / (g.tq * g.hq), key_head = g.KeyHead(h);
    float dq[kMostWidth / 32] = {};
    for (std::int64_t first = 0; first < g.Visible(i); first += kKeyBlock) {
      bool visible[2];
      float w[2];
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const std::int64_t j = first + 32 * k + lane;
        visible[k] = j < g.Visible(i);
        w[k] = visible[k] ? __fmul_rn(PairOf<n>(a, b, h, i, j).gradient, __ldg(a.k.scales + a.k.Row(b, key_head, j))) : 0.0f;
      }
      weights.Cut(w, visible);
      const std::int64_t block = a.k.Block(b, key_head, first / kKeyBlock);
#pragma unroll
      for (int c = 0; c < kMostWidth / 32; ++c) {
        if (lane + 32 * c < g.d) dq[c] = weights.After(a.k, block, lane + 32 * c, dq[c]);
      }
    }
#pragma unroll
    for (int c = 0; c < kMostWidth / 32; ++c) {
      if (lane + 32 * c < g.d) a.dq[g.QueryRow(b, i, h) + lane + 32 * c] = Device::Canonical(dq[c]);
    }
  });
}

template <int n>
__global__ void __launch_bounds__(32 * kWarps) KeyGradientsByDigits(AttentionArgs a) {
  __shared__ __align__(16) std::int8_t staged[2][kWarps][n * 64];
  const Geometry& g = a.g;
  const int lane = threadIdx.x % 32;
  Weights<n> of_q{staged[0][threadIdx.x / 32]}, of_do{staged[1][threadIdx.x / 32]};
  EachRow(g.batch * g.hkv * g.tk, [&](std::int64_t row) {
    const std::int64_t j = row % g.tk, key_head = row / g.tk % g.hkv, b = row / (g.tk * g.hkv);
    float dk[kMostWidth / 32] = {}, dv[kMostWidth / 32] = {};
    for (std::int64_t h = key_head * g.group(); h < (key_head + 1) * g.group(); ++h) {
      for (std::int64_t first = g.FirstQuery(j) / kKeyBlock * kKeyBlock; first < g.tq; first += kKeyBlock) {
        bool visible[2];
        float wq[2], wo[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const std::int64_t i = first + 32 * k + lane;
          visible[k] = i >= g.FirstQuery(j) && i < g.tq;
          wq[k] = wo[k] = 0.0f;
          if (!visible[k]) continue;
          const PairValues pair = PairOf<n>(a, b, h, i, j);
          wq[k] = __fmul_rn(pair.gradient, __ldg(a.q.scales + a.q.Row(b, h, i)));
          wo[k] = __fmul_rn(pair.dropped, __ldg(a.dy.scales + a.dy.Row(b, h, i)));
        }
        of_q.Cut(wq, visible);
        of_do.Cut(wo, visible);
        const std::int64_t block = a.q.Block(b, h, first / kKeyBlock);
#pragma unroll
        for (int c = 0; c < kMostWidth / 32; ++c) {
          if (lane + 32 * c >= g.d) continue;
          dk[c] = of_q.After(a.q, block, lane + 32 * c, dk[c]);
          dv[c] = of_do.After(a.dy, block, lane + 32 * c, dv[c]);
        }
      }
    }
#pragma unroll
    for (int c = 0; c < kMostWidth / 32; ++c) {
      if (lane + 32 * c >= g.d) continue;
      a.dk[g.KeyRow(b, j, key_head) + lane + 32 * c] = Device::Canonical(dk[c]);
      a.dv[g.KeyRow(b, j, key_head) + lane + 32 * c] = Device::Canonical(dv[c]);
    }
  });
}

template <int n>
void RunForward(const KernelArgs& args, Context& context) {
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  AttentionArgs a{.g = g,
                  .dropout = Dropout(g),
                  .rng = args.In<std::uint32_t>(3),
                  .out = args.Out<float>(0),
                  .out_lse = args.Out<float>(1)};
  const auto take = [&](Scratch& scratch) {
    a.q = TakeHeads(scratch, g, g.tq, g.hq, n);
    a.k = TakeHeads(scratch, g, g.tk, g.hkv, n);
    a.v = TakeHeads(scratch, g, g.tk, g.hkv, n);
  };
  Scratch counted;
  take(counted);
  Scratch scratch(context.Scratch(counted.used()));
  take(scratch);
  CutRowsOf<n>(args.In<float>(0), g, a.q, context);
  CutRowsOf<n>(args.In<float>(1), g, a.k, context);
  CutRowsOf<n>(args.In<float>(2), g, a.v, context);
  ForwardByDigits<n><<<GridFor(g.batch * g.hq * g.tq, kWarps), 32 * kWarps, 0, context.stream()>>>(a);
  CheckLaunch("attention by digits");
}

template <int n>
void RunBackward(const KernelArgs& args, Context& context) {
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  AttentionArgs a{.g = g,
                  .dropout = Dropout(g),
                  .rng = args.In<std::uint32_t>(6),
                  .o = args.In<float>(3),
                  .lse = args.In<float>(4),
                  .d_o = args.In<float>(5),
                  .dq = args.Out<float>(0),
                  .dk = args.Out<float>(1),
                  .dv = args.Out<float>(2)};
  const auto take = [&](Scratch& scratch) {
    a.q = TakeHeads(scratch, g, g.tq, g.hq, n);
    a.k = TakeHeads(scratch, g, g.tk, g.hkv, n);
    a.v = TakeHeads(scratch, g, g.tk, g.hkv, n);
    a.dy = TakeHeads(scratch, g, g.tq, g.hq, n);
    a.delta = scratch.Take<float>(g.batch * g.hq * g.tq);
  };
  Scratch counted;
  take(counted);
  Scratch scratch(context.Scratch(counted.used()));
  take(scratch);
  CutRowsOf<n>(args.In<float>(0), g, a.q, context);
  CutRowsOf<n>(args.In<float>(1), g, a.k, context);
  CutRowsOf<n>(args.In<float>(2), g, a.v, context);
  CutRowsOf<n>(a.d_o, g, a.dy, context);
  const std::int64_t queries = g.batch * g.hq * g.tq;
  DeltasByRow<<<GridFor(queries, kWarps), 32 * kWarps, 0, context.stream()>>>(a);
  QueryGradientsByDigits<n><<<GridFor(queries, kWarps), 32 * kWarps, 0, context.stream()>>>(a);
  KeyGradientsByDigits<n><<<GridFor(g.batch * g.hkv * g.tk, kWarps), 32 * kWarps, 0, context.stream()>>>(a);
  CheckLaunch("gradients of attention by digits");
}

}  // namespace

void Attention(const KernelArgs& args, Context& context) {
  ops::DigitsOf(*args.op) == 3 ? RunForward<3>(args, context) : RunForward<2>(args, context);
}
void AttentionGrad(const KernelArgs& args, Context& context) {
  ops::DigitsOf(*args.op) == 3 ? RunBackward<3>(args, context) : RunBackward<2>(args, context);
}

}  // namespace assay::cuda::digits
