// attention_grad: recomputes the probabilities of a tile of queries against a block of keys and feeds three chains with them.
//
// Where there are enough (batch, key head) pairs for all threads, one pass over the tiles of a pair feeds dq, dk and dv. Otherwise two passes
// share the work out more finely at the price of recomputing scores: dq by tiles of queries, then dk and dv by blocks of keys.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/attention_grad.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <utility>

#include "assay/backend/cpu/attention-inl.h"
#include "assay/backend/cpu/attention_digits-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/ops/digits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace attention {

struct GradInputs {
  ops::AttentionGeometry g;
  const float* q;
  const float* k;
  const float* v;
  const float* o;
  const float* lse;
  const float* d_o;
  float* dq;
  float* dk;
  float* dv;
};

// Widths are padded to register tiles, so that no chain over queries has a tail.
constexpr std::int64_t Padded(std::int64_t d) { return (d + kTile - 1) / kTile * kTile; }

// One worker's memory. dk and dv hold `keys` rows of Padded(d), the chains of one (batch, key head).
struct GradScratch {
  float* q_lanes;   // [d][kTile]
  float* do_lanes;  // [d][kTile]
  float* dq_lanes;  // [d][kTile]
  float* q_rows;    // [kTile][Padded(d)]
  float* do_rows;   // [kTile][Padded(d)]
  float* p;         // [kKeyBlock][kTile]
  float* ds;        // [kKeyBlock][kTile]
  float* keep;      // [kKeyBlock][kTile]
  float* rows;      // [kTile][kKeyBlock]
  float* lse;       // [kTile]
  float* delta;     // [kTile]
  float* dk;        // [keys][Padded(d)]
  float* dv;        // [keys][Padded(d)]

  static std::int64_t Floats(std::int64_t d, std::int64_t keys) {
    return (3 * d + 2 * Padded(d) + 4 * kKeyBlock + 2) * kTile + 2 * keys * Padded(d);
  }
  GradScratch(float* memory, std::int64_t d, std::int64_t keys) {
    const auto take = [&](std::int64_t floats) {
      float* part = memory;
      memory += floats;
      return part;
    };
    for (float** lanes : {&q_lanes, &do_lanes, &dq_lanes}) *lanes = take(d * kTile);
    for (float** tile : {&q_rows, &do_rows}) *tile = take(kTile * Padded(d));
    for (float** block : {&p, &ds, &keep, &rows}) *block = take(kKeyBlock * kTile);
    for (float** lane : {&lse, &delta}) *lane = take(kTile);
    for (float** chains : {&dk, &dv}) *chains = take(keys * Padded(d));
  }
};

// A tile of queries of one head.
struct QueryTile {
  std::int64_t b, h, query, count;
  Visibility visibility;
};

inline QueryTile TileAt(const ops::AttentionGeometry& g, std::int64_t b, std::int64_t h, std::int64_t query) {
  return {b, h, query, std::min(kTile, g.tq - query), VisibilityOf(g, query)};
}

inline void LoadTile(const GradInputs& in, const QueryTile& tile, const GradScratch& scratch) {
  const ops::AttentionGeometry& g = in.g;
  const std::int64_t stride = g.hq * g.d;
  const std::int64_t at = g.QueryRow(tile.b, tile.query, tile.h);
  ToLanes(in.q + at, stride, tile.count, g.d, scratch.q_lanes);
  ToLanes(in.d_o + at, stride, tile.count, g.d, scratch.do_lanes);
  const std::size_t row_bytes = static_cast<std::size_t>(g.d) * sizeof(float);
  const std::size_t pad_bytes = static_cast<std::size_t>(Padded(g.d)) * sizeof(float) - row_bytes;
  std::memset(scratch.lse, 0, static_cast<std::size_t>(2 * kTile) * sizeof(float));
  for (std::int64_t i = 0; i < tile.count; ++i) {
    for (const auto& [rows, from] : {std::pair{scratch.q_rows, in.q}, {scratch.do_rows, in.d_o}}) {
      float* row = rows + i * Padded(g.d);
      std::memcpy(row, from + at + i * stride, row_bytes);
      std::memset(row + g.d, 0, pad_bytes);
    }
    scratch.lse[i] = in.lse[g.Lse(tile.b, tile.h, tile.query + i)];
    scratch.delta[i] = RowDot(in.d_o + at + i * stride, in.o + at + i * stride, g.d);
  }
}

// Probabilities and gradients of the scores of the block of keys from `first` on. With dropout, p becomes p'.
inline void ScoreGradients(const GradInputs& in, const Dropout* dropout, const QueryTile& tile, std::int64_t first,
                           const GradScratch& scratch) {
  const ops::AttentionGeometry& g = in.g;
  const std::int64_t keys = tile.visibility.Any(first);
  const std::int64_t key_stride = g.hkv * g.d, row = g.KeyRow(tile.b, first, g.KeyHead(tile.h));
  Scores(scratch.q_lanes, in.k + row, key_stride, keys, g.d, g.scale, scratch.p);
  Scores(scratch.do_lanes, in.v + row, key_stride, keys, g.d, 1.0f, scratch.ds);
  if (dropout != nullptr) dropout->Keep(tile.b, tile.h, tile.query, tile.count, first, keys, scratch.rows, scratch.keep);
  const F scale = Simd::Set(g.scale);
  for (int u = 0; u < 2; ++u) {
    const F lse = Simd::Load(scratch.lse + u * kLanes), delta = Simd::Load(scratch.delta + u * kLanes);
    for (std::int64_t j = 0; j < keys; ++j) {
      const std::int64_t at = j * kTile + u * kLanes;
      F p = nm::Exp<Simd>(Simd::Sub(Simd::Load(scratch.p + at), lse));
      F dp = Simd::Load(scratch.ds + at);
      const F kept = dropout != nullptr ? Simd::Load(scratch.keep + at) : Simd::Set(1.0f);
      if (dropout != nullptr) dp = Simd::Mul(dp, kept);
      Simd::Store(Simd::Mul(Simd::Mul(p, Simd::Sub(dp, delta)), scale), scratch.ds + at);
      Simd::Store(dropout != nullptr ? Simd::Mul(p, kept) : p, scratch.p + at);
    }
  }
}

// dq[d] continues its chain over the block's keys.
inline void AddToQueries(const GradInputs& in, const QueryTile& tile, std::int64_t first, const GradScratch& scratch) {
  const ops::AttentionGeometry& g = in.g;
  const float* k = in.k + g.KeyRow(tile.b, first, g.KeyHead(tile.h));
  InRegisterTiles(g.d, [&](auto rows, std::int64_t row) HWY_ATTR {
    Sums<rows.value> sums;
    if (first == 0) {
      SetZero<rows.value>(sums);
    } else {
      LoadSums<rows.value>(sums, scratch.dq_lanes + row * kTile, kTile);
    }
    ChainVisible<rows.value>(sums, {k + row, 1, g.hkv * g.d}, scratch.ds, tile.visibility, first);
    StoreSums<rows.value>(sums, scratch.dq_lanes + row * kTile, kTile);
  });
}

// Rows of keys [row, row + R) of the block continue their chains over the tile's queries: chains[key][d] += weights[key][query] · queries[query][d].
template <int R>
HWY_INLINE void AddQueries(const QueryTile& tile, std::int64_t first, std::int64_t row, const float* weights,
                           const float* queries, std::int64_t padded, float* chains) {
  const std::int64_t begin = tile.visibility.FirstLane(first + row);
  const std::int64_t all = std::min(tile.count, tile.visibility.FirstLane(first + row + R - 1));
  for (std::int64_t d = 0; d < padded; d += kTile) {
    Sums<R> sums;
    LoadSums<R>(sums, chains + d, padded);
    for (std::int64_t i = begin; i < all; ++i) {  // queries that see the earlier keys of the tile alone
      const float* y = queries + i * padded + d;
      const F y0 = Simd::Load(y), y1 = Simd::Load(y + kLanes);
      for (int r = 0; r < R; ++r) {
        if (i < tile.visibility.FirstLane(first + row + r)) continue;
        const F weight = Simd::Set(weights[r * kTile + i]);
        sums[r][0] = Simd::Fma(weight, y0, sums[r][0]);
        sums[r][1] = Simd::Fma(weight, y1, sums[r][1]);
      }
    }
    Chain<R>(sums, {weights + all, kTile, 1}, queries + all * padded + d, padded, tile.count - all);
    StoreSums<R>(sums, chains + d, padded);
  }
}

// dk and dv of the block's keys; `row` is the place of the block's first key among the chains.
inline void AddToKeys(const GradInputs& in, const QueryTile& tile, std::int64_t first, std::int64_t row,
                      const GradScratch& scratch) {
  const std::int64_t padded = Padded(in.g.d);
  InRegisterTiles(tile.visibility.Any(first), [&](auto rows, std::int64_t j) HWY_ATTR {
    AddQueries<rows.value>(tile, first, j, scratch.ds + j * kTile, scratch.q_rows, padded, scratch.dk + (row + j) * padded);
    AddQueries<rows.value>(tile, first, j, scratch.p + j * kTile, scratch.do_rows, padded, scratch.dv + (row + j) * padded);
  });
}

inline void StoreQueries(const GradInputs& in, const QueryTile& tile, const GradScratch& scratch) {
  const ops::AttentionGeometry& g = in.g;
  for (std::int64_t i = 0; i < g.d * kTile; i += kLanes) {
    Simd::Store(Simd::Canonical(Simd::Load(scratch.dq_lanes + i)), scratch.dq_lanes + i);
  }
  Transpose(scratch.dq_lanes, kTile, g.d, tile.count, in.dq + g.QueryRow(tile.b, tile.query, tile.h), g.hq * g.d);
}

inline void StoreKeys(const GradInputs& in, std::int64_t b, std::int64_t key_head, std::int64_t first, std::int64_t keys,
                      const GradScratch& scratch) {
  const ops::AttentionGeometry& g = in.g;
  for (std::int64_t j = 0; j < keys; ++j) {
    const std::int64_t to = g.KeyRow(b, first + j, key_head), from = j * Padded(g.d);
    for (std::int64_t d = 0; d < g.d; ++d) in.dk[to + d] = numerics::CanonicalNan(scratch.dk[from + d]);
    for (std::int64_t d = 0; d < g.d; ++d) in.dv[to + d] = numerics::CanonicalNan(scratch.dv[from + d]);
  }
}

inline void ClearKeys(std::int64_t d, std::int64_t keys, const GradScratch& scratch) {
  const std::size_t bytes = static_cast<std::size_t>(keys * Padded(d)) * sizeof(float);
  std::memset(scratch.dk, 0, bytes);
  std::memset(scratch.dv, 0, bytes);
}

// All three gradients of one (batch, key head).
inline void Whole(const GradInputs& in, const Dropout* dropout, std::int64_t b, std::int64_t key_head,
                  const GradScratch& scratch) {
  const ops::AttentionGeometry& g = in.g;
  ClearKeys(g.d, g.tk, scratch);
  for (std::int64_t h = key_head * g.group(); h < (key_head + 1) * g.group(); ++h) {
    for (std::int64_t query = 0; query < g.tq; query += kTile) {
      const QueryTile tile = TileAt(g, b, h, query);
      LoadTile(in, tile, scratch);
      for (std::int64_t first = 0; first < tile.visibility.most; first += kKeyBlock) {
        ScoreGradients(in, dropout, tile, first, scratch);
        AddToQueries(in, tile, first, scratch);
        AddToKeys(in, tile, first, first, scratch);
      }
      StoreQueries(in, tile, scratch);
    }
  }
  StoreKeys(in, b, key_head, 0, g.tk, scratch);
}

// dq of one tile.
inline void QueriesOnly(const GradInputs& in, const Dropout* dropout, const QueryTile& tile, const GradScratch& scratch) {
  LoadTile(in, tile, scratch);
  for (std::int64_t first = 0; first < tile.visibility.most; first += kKeyBlock) {
    ScoreGradients(in, dropout, tile, first, scratch);
    AddToQueries(in, tile, first, scratch);
  }
  StoreQueries(in, tile, scratch);
}

// dk and dv of one block of keys.
inline void KeysOnly(const GradInputs& in, const Dropout* dropout, std::int64_t b, std::int64_t key_head, std::int64_t first,
                     const GradScratch& scratch) {
  const ops::AttentionGeometry& g = in.g;
  const std::int64_t keys = std::min(kKeyBlock, g.tk - first);
  ClearKeys(g.d, keys, scratch);
  for (std::int64_t h = key_head * g.group(); h < (key_head + 1) * g.group(); ++h) {
    for (std::int64_t query = g.FirstQuery(first) / kTile * kTile; query < g.tq; query += kTile) {
      const QueryTile tile = TileAt(g, b, h, query);
      LoadTile(in, tile, scratch);
      ScoreGradients(in, dropout, tile, first, scratch);
      AddToKeys(in, tile, first, 0, scratch);
    }
  }
  StoreKeys(in, b, key_head, first, keys, scratch);
}

}  // namespace attention

void Run_attention_grad(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return AttentionGradByDigits(args, context);
  using attention::GradScratch;
  using attention::kKeyBlock;
  using attention::kTile;
  const ops::AttentionGeometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const attention::GradInputs in{g,
                                 args.In<float>(0),
                                 args.In<float>(1),
                                 args.In<float>(2),
                                 args.In<float>(3),
                                 args.In<float>(4),
                                 args.In<float>(5),
                                 args.Out<float>(0),
                                 args.Out<float>(1),
                                 args.Out<float>(2)};
  const attention::Dropout drawn(in.g, args.In<std::uint32_t>(6));
  const attention::Dropout* dropout = g.dropout > 0 ? &drawn : nullptr;
  const auto scratch = [&](int worker, std::int64_t keys) {
    const std::size_t bytes = static_cast<std::size_t>(GradScratch::Floats(g.d, keys)) * sizeof(float);
    return GradScratch(static_cast<float*>(context.Scratch(worker, bytes)), g.d, keys);
  };
  const std::int64_t pairs = g.batch * g.hkv;
  if (pairs >= context.pool().threads()) {
    context.pool().ParallelFor(pairs, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
      const GradScratch memory = scratch(worker, g.tk);
      for (std::int64_t pair = begin; pair < end; ++pair) attention::Whole(in, dropout, pair / g.hkv, pair % g.hkv, memory);
    });
    return;
  }
  const std::int64_t tiles = (g.tq + kTile - 1) / kTile, blocks = (g.tk + kKeyBlock - 1) / kKeyBlock;
  context.pool().ParallelFor(g.batch * g.hq * tiles, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
    const GradScratch memory = scratch(worker, kKeyBlock);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t row = unit / tiles;
      attention::QueriesOnly(in, dropout, attention::TileAt(g, row / g.hq, row % g.hq, unit % tiles * kTile), memory);
    }
  });
  context.pool().ParallelFor(pairs * blocks, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
    const GradScratch memory = scratch(worker, kKeyBlock);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t pair = unit / blocks;
      attention::KeysOnly(in, dropout, pair / g.hkv, pair % g.hkv, unit % blocks * kKeyBlock, memory);
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
