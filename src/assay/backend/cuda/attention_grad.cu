// attention_grad: a thread block owns a tile of keys of one key head and walks the queries that see them, ascending, heads of
// the group outermost, so that dk and dv are chains in its registers. dq of a tile of queries passes from block to block in
// ascending order of keys: a block takes it up where the block of the tile before put it down, and a counter for each tile of
// queries says how many are done. Blocks take their tiles in the order in which they start, tiles of lower keys first, so that
// a block waits only for blocks that have started.
//
// Half of the threads (side 0) compute scores and dv, the other half (side 1) the gradients of probabilities and dk; each side
// turns half of the pairs into p' and ds, and all of them compute dq. Every sum over d, keys or queries is one chain,
// ascending.
#include <algorithm>

#include "assay/backend/cuda/attention-inl.h"
#include "assay/backend/cuda/digit_ops.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/base/check.h"
#include "assay/ops/digits.h"

namespace assay::cuda {
namespace attention {
namespace {

struct Backward {
  Geometry g;
  Dropout dropout;
  const float* q;
  const float* k;
  const float* v;
  const float* o;
  const float* lse;
  const float* output_gradient;
  const std::uint32_t* rng;
  float* dq;
  float* dk;
  float* dv;
  float* delta;  // as lse
  int* started;  // blocks
  int* done;     // [batch, hq, tiles of queries]: tiles of keys that dq contains
  std::int64_t counters;
};

constexpr int kDeltaWarps = 8, kDeltaRows = 4;

// delta = rowdot(do, o), a warp for each row in turn; and the counters' start at 0.
__global__ void __launch_bounds__(32 * kDeltaWarps) DeltaKernel(const Backward a) {
  const Geometry& g = a.g;
  const std::int64_t thread = blockIdx.x * std::int64_t{32 * kDeltaWarps} + threadIdx.x;
  for (std::int64_t k = thread; k < a.counters; k += gridDim.x * std::int64_t{32 * kDeltaWarps}) a.started[k] = 0;
  const int lane = static_cast<int>(threadIdx.x % 32), d = static_cast<int>(g.d);
  const std::int64_t rows = g.batch * g.tq * g.hq, first = thread / 32 * kDeltaRows;
  float lanes[kDeltaRows] = {};
#pragma unroll
  for (int r = 0; r < kDeltaRows; ++r) {
    if (first + r >= rows) continue;
    const std::int64_t at = (first + r) * d;
    for (int c = lane; c < d; c += 32) lanes[r] = __fmaf_rn(a.output_gradient[at + c], a.o[at + c], lanes[r]);
  }
#pragma unroll
  for (int r = 0; r < kDeltaRows; ++r) {
#pragma unroll
    for (int h = 16; h > 0; h /= 2) lanes[r] = __fadd_rn(lanes[r], __shfl_xor_sync(0xffffffffu, lanes[r], h));
    const std::int64_t row = first + r;
    if (lane == 0 && row < rows) a.delta[g.Lse(row / (g.tq * g.hq), row % g.hq, row / g.hq % g.tq)] = lanes[r];
  }
}

// kWidth: d, or at least d. kTile: keys and queries of a tile, 32 or 64. kR: queries of a thread in the scores, keys in dk and
// dv.
template <int kWidth_, int kTile_, int kR_, int kBlocks_, int kUnroll_ = kR_ == 8 ? 1 : 2>
struct BackwardShape {
  static constexpr int kWidth = kWidth_, kTile = kTile_, kR = kR_;
  static constexpr int kBlocks = kBlocks_;  // of a multiprocessor, at least
  static constexpr int kUnroll = kUnroll_;  // of the first product
  static constexpr int kHalf = kR / 2;      // rows of a thread that it turns into ds, and its queries in dq
  static constexpr int kSideThreads = 8 * kTile / kR;
  static constexpr int kThreads = 2 * kSideThreads;
  static constexpr int kN = kTile / 32;  // fours of keys of a thread
  static constexpr int kQuad = kR < 4 ? kR : 4;
  static constexpr int kRowTwist = kQuad;   // of q and do; keys and values are read as columns, four rows at a time
  static constexpr int kPairTwist = kHalf;  // of p' and ds, which dq reads by kHalf rows
  static constexpr int kBytes = 4 * (4 * kTile * kWidth + 2 * kTile * kTile);
  static constexpr int kNextHalf = kR == 8 ? kTile / 2 : kHalf;  // from the first half of a thread's rows to the second

  // Rows of a thread of row y of its side's grid: r of the first half at FirstRow(y) + r, r of the second kNextHalf further on.
  static __device__ constexpr int FirstRow(int y) { return kQuad * y; }
  static __device__ constexpr int Row(int y, int r) { return kQuad * y + r % kHalf + kNextHalf * (r / kHalf); }
  // Of row i of p' and ds.
  static __device__ constexpr int PairTwist(int i) { return Twist(i / kPairTwist); }
};

__device__ __forceinline__ int AcquireCounter(const int* counter) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}
__device__ __forceinline__ void ReleaseCounter(int* counter, int value) {
  __threadfence();
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}

// Four columns of a row of dq as another block left it; what lies outside the row is left alone.
__device__ __forceinline__ void LoadColumns(float (&to)[4], const float* row, int column, int d) {
  if (d % 4 == 0) {
    if (column < d) {
      const float4 x = __ldcg(reinterpret_cast<const float4*>(row + column));
      to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
    }
  } else {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (column + c < d) to[c] = __ldcg(row + column + c);
    }
  }
}

// p and the gradient of the score, from the score and the gradient of p, of four pairs; p' in the place of the score.
__device__ __forceinline__ void ScoreGradients(float (&score)[4], float (&gradient)[4], float scale, float lse, float delta,
                                               bool drops, const float (&keep)[4]) {
  float p[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    score[c] = __fsub_rn(__fmul_rn(score[c], scale), lse);
    p[c] = ExpSmall(score[c]);
  }
  if (fmaxf(fmaxf(score[0], score[1]), fmaxf(score[2], score[3])) > 40.0f) {
#pragma unroll
    for (int c = 0; c < 4; ++c) p[c] = nd::Exp<Device>(score[c]);
  }
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    const float dp = drops ? __fmul_rn(gradient[c], keep[c]) : gradient[c];
    gradient[c] = __fmul_rn(__fmul_rn(p[c], __fsub_rn(dp, delta)), scale);
    score[c] = drops ? __fmul_rn(p[c], keep[c]) : p[c];
  }
}

// sum[r][n][c] goes on with a chain over queries 4 begin ... 4 end - 1 of a tile: their weights for key r of the thread, and
// their column 4 (x + 8n) + c; only the queries i for which takes(r, i).
template <class Shape, int kUnroll, int kC, class Takes>
__device__ __forceinline__ void ChainOverQueries(float (&sum)[Shape::kR][kC][4], const float* weights, int y,
                                                 const float* queries, int begin, int end, const Takes& takes) {
  constexpr int kR = Shape::kR, kTile = Shape::kTile, kPairTwist = Shape::kPairTwist, kRowTwist = Shape::kRowTwist;
#pragma unroll(kUnroll)
  for (int unit = begin; unit < end; ++unit) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int i = 4 * unit + e, pair_twist = Twist(4 / kPairTwist * unit) ^ Twist(e / kPairTwist);
      const int row_twist = Twist(4 / kRowTwist * unit) ^ Twist(e / kRowTwist);
      float w[kR], v[kC][4];
      if constexpr (kR == 2) {
#pragma unroll
        for (int r = 0; r < kR; ++r) w[r] = weights[i * kTile + 4 * (y / 2 ^ pair_twist) + (2 * y + r) % 4];
      } else {
#pragma unroll
        for (int n = 0; n < kR / 4; ++n) {
          float four[4];
          Load4(four, weights + i * kTile + 4 * (y ^ pair_twist) + 32 * n);
#pragma unroll
          for (int c = 0; c < 4; ++c) w[4 * n + c] = four[c];
        }
      }
#pragma unroll
      for (int n = 0; n < kC; ++n) Load4(v[n], queries + i * Shape::kWidth + 4 * (GridX() ^ row_twist) + 32 * n);
#pragma unroll
      for (int r = 0; r < kR; ++r) {
        if (!takes(r, i)) continue;
#pragma unroll
        for (int c = 0; c < 4 * kC; ++c) sum[r][c / 4][c % 4] = __fmaf_rn(w[r], v[c / 4][c % 4], sum[r][c / 4][c % 4]);
      }
    }
  }
}

template <class Shape, bool kExact, bool kDropout>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks) BackwardKernel(const Backward a) {
  constexpr int kWidth = Shape::kWidth, kTile = Shape::kTile, kR = Shape::kR, kHalf = Shape::kHalf, kN = Shape::kN;
  constexpr int kC = kWidth / 32;
  const Geometry& g = a.g;
  extern __shared__ float4 shared[];
  float* const ks = reinterpret_cast<float*>(shared);
  float* const vs = ks + kTile * kWidth;
  float* const qs = vs + kTile * kWidth;
  float* const gs = qs + kTile * kWidth;  // do
  float* const ps = gs + kTile * kWidth;
  float* const ds = ps + kTile * kTile;

  const int d = kExact ? kWidth : static_cast<int>(g.d);
  const int side = static_cast<int>(threadIdx.x) / Shape::kSideThreads;
  const int x = GridX(), y = static_cast<int>(threadIdx.x) % Shape::kSideThreads / 32 * 4 + GridY();
  const int query_y = static_cast<int>(threadIdx.x) / 32 * 4 + GridY();  // in dq
  const int row_twist = Twist(y), query_twist = Twist(query_y);

  const std::int64_t heads = g.batch * g.hkv;
  std::int64_t work = blockIdx.x;
  if (g.tk > kTile) {
    __shared__ int ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(a.started, 1);
    __syncthreads();
    work = ticket;
  }
  const int key_tile = static_cast<int>(work / heads);
  const std::int64_t b = work % heads / g.hkv, key_head = work % heads % g.hkv;
  const int tq = static_cast<int>(g.tq), tk = static_cast<int>(g.tk);
  const int first_key = key_tile * kTile;
  const int query_tiles = (tq + kTile - 1) / kTile;
  const int first_tile = static_cast<int>(g.FirstQuery(first_key)) / kTile;

  const auto load_queries = [&](int h, int tile) {
    const std::int64_t at = g.QueryRow(b, tile * kTile, h), stride = g.hq * g.d;
    const int count = Least(tq - tile * kTile, kTile);
    LoadTile<kWidth, kTile, Shape::kThreads, Shape::kRowTwist, 8, kExact>(qs, a.q + at, stride, count, d);
    LoadTile<kWidth, kTile, Shape::kThreads, Shape::kRowTwist, 8, kExact>(gs, a.output_gradient + at, stride, count, d);
  };
  {
    const std::int64_t at = g.KeyRow(b, first_key, key_head), stride = g.hkv * g.d;
    const int count = Least(tk - first_key, kTile);
    LoadTile<kWidth, kTile, Shape::kThreads, 4, 8, kExact>(ks, a.k + at, stride, count, d);
    LoadTile<kWidth, kTile, Shape::kThreads, 4, 8, kExact>(vs, a.v + at, stride, count, d);
  }

  // A side keeps the products of one half of its rows, and gives those of the other half to the other side.
  const int kept_row = Shape::FirstRow(y) + side * Shape::kNextHalf;
  const int given_row = Shape::FirstRow(y) + (1 - side) * Shape::kNextHalf;
  const float* const kept_left = (side == 0 ? qs : gs) + kept_row * kWidth;
  const float* const given_left = (side == 0 ? qs : gs) + given_row * kWidth;
  const int kept_pairs = kept_row * kTile + 4 * (x ^ Shape::PairTwist(kept_row));
  float* const given = (side == 0 ? ps : ds) + given_row * kTile + 4 * (x ^ Shape::PairTwist(given_row));
  const float* const taken = (side == 0 ? ds : ps) + kept_pairs;
  const float* const weights = side == 0 ? ps : ds;  // of the second product
  const float* const rows = side == 0 ? gs : qs;

  float sum[kR][kC][4] = {};  // dv or dk
  int* published = nullptr;   // the counter of the tile whose dq was stored last

  int h = static_cast<int>(key_head * g.group());
  const int last_head = h + static_cast<int>(g.group()) - 1;
  int tile = first_tile;
  load_queries(h, tile);
  for (bool more = true; more;) {
    const int first = tile * kTile, queries = Least(tq - first, kTile);
    int* const counter = a.done + (b * g.hq + h) * query_tiles + tile;
    const bool masked = queries < kTile || first_key + kTile > g.Visible(first);
    WaitForCopies();
    __syncthreads();
    if (threadIdx.x == 0 && published != nullptr) ReleaseCounter(published, key_tile + 1);
    published = counter;

    float t[kR][kN][4] = {};  // the kept half first
    ChainOverWidth<kWidth, kExact, Shape::kUnroll>(
        t, [&](int r) { return (r < kHalf ? kept_left : given_left) + r % kHalf * kWidth; }, row_twist, side == 0 ? ks : vs, d);
#pragma unroll
    for (int r = 0; r < kHalf; ++r) {
#pragma unroll
      for (int n = 0; n < kN; ++n) Store4(given + r * kTile + 32 * n, t[r + kHalf][n]);
    }
    const float* const lse = a.lse + g.Lse(b, h, first) + kept_row;
    const float* const delta = a.delta + g.Lse(b, h, first) + kept_row;
    float row_lse[kHalf], row_delta[kHalf];
#pragma unroll
    for (int r = 0; r < kHalf; ++r) {
      const bool real = kept_row + r < queries;
      row_lse[r] = real ? lse[r] : 0.0f;
      row_delta[r] = real ? delta[r] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kHalf; ++r) {
#pragma unroll
      for (int n = 0; n < kN; ++n) {
        const bool drops = kDropout && (kExact || g.dropout > 0);
        float other[4], score[4], gradient[4], keep[4];
        Load4(other, taken + r * kTile + 32 * n);
        if (drops) Mask(a.dropout, a.rng).Keep(g.Element(b, h, first + kept_row + r, first_key + 4 * x + 32 * n), keep);
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          score[c] = side == 0 ? t[r][n][c] : other[c];
          gradient[c] = side == 0 ? other[c] : t[r][n][c];
        }
        ScoreGradients(score, gradient, g.scale, row_lse[r], row_delta[r], drops, keep);
        Store4(ps + kept_pairs + r * kTile + 32 * n, score);
        Store4(ds + kept_pairs + r * kTile + 32 * n, gradient);
      }
    }
    if (threadIdx.x == 0 && key_tile > 0) {
      while (AcquireCounter(counter) < key_tile) {
      }
    }
    __syncthreads();

    float dq[kHalf][kC][4] = {};
    float* const dq_rows = a.dq + g.QueryRow(b, first, h);
    if (key_tile > 0) {
#pragma unroll
      for (int r = 0; r < kHalf; ++r) {
        const int row = kHalf * query_y + r;
        if (row >= queries) continue;
#pragma unroll
        for (int n = 0; n < kC; ++n) LoadColumns(dq[r][n], dq_rows + row * (g.hq * g.d), 4 * (x + 8 * n), d);
      }
    }

    // dv and dk.
    if (!masked) {
      ChainOverQueries<Shape, 2>(sum, weights, y, rows, 0, kTile / 4, [](int, int) { return true; });
    } else {
      const auto begin = [&](int key) { return Most(static_cast<int>(g.FirstQuery(first_key + key)) - first, 0); };
      int own[kR];
#pragma unroll
      for (int r = 0; r < kR; ++r) own[r] = begin(Shape::Row(y, r));
      ChainOverQueries<Shape, 1>(sum, weights, y, rows, begin(Shape::FirstRow(y & ~3)) / 4, (queries + 3) / 4,
                                 [&](int r, int i) { return i >= own[r] && i < queries; });
    }
    __syncthreads();
    if (++tile == query_tiles) {
      tile = first_tile;
      more = ++h <= last_head;
    }
    if (more) load_queries(h, tile);

    const auto ds_row = [&](int r) { return ds + (kHalf * query_y + r) * kTile; };
    if (!masked) {
      ChainOverKeys<kWidth, 2>(dq, ds_row, query_twist, ks, kTile / 4, [](int, int) { return true; });
    } else {
      const auto end = [&](int row) {
        return Least(static_cast<int>(g.Visible(Least(first + row, tq - 1))) - first_key, kTile);
      };
      int own[kHalf];
#pragma unroll
      for (int r = 0; r < kHalf; ++r) own[r] = end(kHalf * query_y + r);
      ChainOverKeys<kWidth, 1>(dq, ds_row, query_twist, ks, (end(kHalf * (query_y | 3) + kHalf - 1) + 3) / 4,
                               [&](int r, int j) { return j < own[r]; });
    }
#pragma unroll
    for (int r = 0; r < kHalf; ++r) {
      const int row = kHalf * query_y + r;
      if (row >= queries) continue;
#pragma unroll
      for (int n = 0; n < kC; ++n) StoreColumns(dq_rows + row * (g.hq * g.d), 4 * (x + 8 * n), d, dq[r][n]);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) ReleaseCounter(published, key_tile + 1);

  float* const out = side == 0 ? a.dv : a.dk;
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const int j = first_key + Shape::Row(y, r);
    if (j >= tk) continue;
#pragma unroll
    for (int n = 0; n < kC; ++n) StoreColumns(out + g.KeyRow(b, j, key_head), 4 * (x + 8 * n), d, sum[r][n]);
  }
}

template <class Shape, bool kExact, bool kDropout>
void Launch(Backward a, Context& context) {
  const Geometry& g = a.g;
  const std::int64_t rows = g.batch * g.hq * g.tq, query_tiles = (g.tq + Shape::kTile - 1) / Shape::kTile;
  a.counters = 1 + g.batch * g.hq * query_tiles;
  a.delta = static_cast<float*>(context.Scratch(static_cast<std::size_t>(4 * (rows + a.counters))));
  a.started = reinterpret_cast<int*>(a.delta + rows);
  a.done = a.started + 1;
  const std::int64_t per_block = kDeltaWarps * kDeltaRows;
  DeltaKernel<<<static_cast<unsigned>((rows + per_block - 1) / per_block), 32 * kDeltaWarps, 0, context.stream()>>>(a);
  CheckLaunch("attention_grad");

  const auto kernel = BackwardKernel<Shape, kExact, kDropout>;
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kBytes), "attention_grad");
  const std::int64_t blocks = g.batch * g.hkv * ((g.tk + Shape::kTile - 1) / Shape::kTile);
  kernel<<<static_cast<unsigned>(blocks), Shape::kThreads, Shape::kBytes, context.stream()>>>(a);
  CheckLaunch("attention_grad");
}

template <class Large, class Small>
void Choose(const Backward& a, Context& context) {
  const std::int64_t blocks = a.g.batch * a.g.hkv * ((a.g.tk + Large::kTile - 1) / Large::kTile);
  WithShape<Large, Small>(a.g, blocks, context,
                          [&]<class Shape, bool exact, bool dropout>() { Launch<Shape, exact, dropout>(a, context); });
}

}  // namespace
}  // namespace attention

void Run_attention_grad(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return digits::AttentionGrad(args, context);
  using namespace attention;
  const Geometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const Backward a{.g = g,
                   .dropout = Dropout(g),
                   .q = args.In<float>(0),
                   .k = args.In<float>(1),
                   .v = args.In<float>(2),
                   .o = args.In<float>(3),
                   .lse = args.In<float>(4),
                   .output_gradient = args.In<float>(5),
                   .rng = args.In<std::uint32_t>(6),
                   .dq = args.Out<float>(0),
                   .dk = args.Out<float>(1),
                   .dv = args.Out<float>(2),
                   .delta = nullptr,
                   .started = nullptr,
                   .done = nullptr,
                   .counters = 0};
  ASSAY_CHECK(g.tq <= kMaxLength && g.tk <= kMaxLength);
  if (g.d <= 32) return Choose<BackwardShape<32, 64, 8, 2>, BackwardShape<32, 64, 4, 1>>(a, context);
  if (g.d <= 64) return Choose<BackwardShape<64, 64, 4, 2, 1>, BackwardShape<64, 64, 4, 1>>(a, context);
  if (g.d <= 128) return Choose<BackwardShape<128, 64, 4, 1>, BackwardShape<128, 32, 2, 1>>(a, context);
  return Launch<BackwardShape<256, 32, 2, 1>, false, true>(a, context);
}

}  // namespace assay::cuda
