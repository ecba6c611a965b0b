// attention_grad with digits: a block of 64 queries against a block of 64 keys gives the weights of three sums. Keys and columns of keys are
// lines that meet panels of queries; the weights of a key are a line that meets panels of columns.
//
// Where there are enough (batch, key head) pairs for all threads, one pass over the blocks of a pair feeds dq, dk and dv. Otherwise two passes
// share the work out more finely at the price of computing the weights twice.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/attention_digits_grad.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <new>

#include "assay/backend/cpu/attention_digit_rows-inl.h"
#include "assay/backend/cpu/attention_digits-inl.h"
#include "assay/ops/digits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace attention {
namespace {

constexpr std::int64_t kQueryBlock = 64;  // docs/NUMERICS.md
constexpr std::int64_t kTiles = kQueryBlock / kTile;

struct DigitGradInputs {
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

// A block of keys of one (batch, key head).
template <class Kernel>
struct KeyBlock {
  std::int64_t first = 0, count = 0;
  std::uint8_t* keys;     // lines
  std::uint8_t* values;   // lines
  std::uint8_t* columns;  // of keys: lines
  float* scales;          // of keys
  float* factors;

  KeyBlock(Parts& parts, std::int64_t d)
      : keys(parts.Take(kKeyBlock * Kernel::LineBytes(d))),
        values(parts.Take(kKeyBlock * Kernel::LineBytes(d))),
        columns(parts.Take(d * Kernel::LineBytes(kKeyBlock))),
        scales(parts.Take<float>(kKeyBlock)),
        factors(parts.Take<float>(kKeyBlock)) {}

  HWY_INLINE void Pack(const DigitGradInputs& in, std::int64_t b, std::int64_t key_head,
                       digit::PackSpace<Kernel>& space) const {
    const std::int64_t d = in.g.d, stride = in.g.hkv * d, row = in.g.KeyRow(b, first, key_head);
    for (std::int64_t j = 0; j < count; ++j) {
      digit::PackContiguousLine<Kernel>(in.k + row + j * stride, d, keys + j * Kernel::LineBytes(d));
      digit::PackContiguousLine<Kernel>(in.v + row + j * stride, d, values + j * Kernel::LineBytes(d));
      RowScale(in.k + row + j * stride, d, Kernel::kDigits, factors[j], scales[j]);
    }
    PackColumnLines<Kernel>(in.k + row, stride, d, count, factors, space, columns);
  }
};

// A block of queries of one head.
template <class Kernel>
struct QueryBlock {
  std::int64_t b = 0, h = 0, first = 0, count = 0;
  std::uint8_t* panels[2];   // of tiles of q and do
  std::uint8_t* columns[2];  // of q and do: panels
  float* scales[2];
  float* factors[2];
  float* lse;
  float* delta;
  float* dq;  // [d][kQueryBlock]

  QueryBlock(Parts& parts, std::int64_t d) {
    for (int side = 0; side < 2; ++side) {
      panels[side] = parts.Take(kTiles * Kernel::PanelBytes(d));
      columns[side] = parts.Take((d + kTile - 1) / kTile * Kernel::PanelBytes(kQueryBlock));
      scales[side] = parts.Take<float>(kQueryBlock);
      factors[side] = parts.Take<float>(kQueryBlock);
    }
    lse = parts.Take<float>(kQueryBlock);
    delta = parts.Take<float>(kQueryBlock);
    dq = parts.Take<float>(d * kQueryBlock);
  }

  std::int64_t tiles() const { return (count + kTile - 1) / kTile; }

  HWY_INLINE void Pack(const DigitGradInputs& in, digit::PackSpace<Kernel>& space) const {
    const ops::AttentionGeometry& g = in.g;
    const std::int64_t stride = g.hq * g.d, row = g.QueryRow(b, first, h);
    for (int side = 0; side < 2; ++side) {
      const float* from = (side == 0 ? in.q : in.d_o) + row;
      for (std::int64_t t = 0; t < tiles(); ++t) {
        digit::PackContiguousPanel<Kernel>(from + t * kTile * stride, stride, std::min(kTile, count - t * kTile), g.d, space,
                                           panels[side] + t * Kernel::PanelBytes(g.d));
      }
      for (std::int64_t i = 0; i < count; ++i) {
        RowScale(from + i * stride, g.d, Kernel::kDigits, factors[side][i], scales[side][i]);
      }
      std::fill(scales[side] + count, scales[side] + kQueryBlock, 0.0f);
      PackColumnPanels<Kernel>(from, stride, g.d, count, factors[side], columns[side]);
    }
    std::fill_n(lse, kQueryBlock, 0.0f);
    std::fill_n(delta, kQueryBlock, 0.0f);
    for (std::int64_t i = 0; i < count; ++i) {
      lse[i] = in.lse[g.Lse(b, h, first + i)];
      delta[i] = RowDot(in.d_o + row + i * stride, in.o + row + i * stride, g.d);
    }
  }
};

// The weights of a block of queries and a block of keys, [key][query]; 0 where a pair is not visible.
struct Weights {
  float* p;      // scores, then p'
  float* ds;     // products of do and v, then gradients of the scores
  float* of_q;   // ds times the scale of k
  float* of_k;   // ds times the scale of q
  float* of_v;   // p' times the scale of do
  float* keep;   // [kKeyBlock][kTile]
  float* rows;   // [kTile][kKeyBlock]
  float* saved;  // [d][kTile]

  Weights(Parts& parts, std::int64_t d) {
    for (float** block : {&p, &ds, &of_q, &of_k, &of_v}) *block = parts.Take<float>(kKeyBlock * kQueryBlock);
    keep = parts.Take<float>(kKeyBlock * kTile);
    rows = parts.Take<float>(kKeyBlock * kTile);
    saved = parts.Take<float>(d * kTile);
  }
};

// One worker's memory.
template <class Kernel>
struct GradMemory {
  digit::PackSpace<Kernel>* space;
  KeyBlock<Kernel> keys;
  QueryBlock<Kernel> queries;
  Weights weights;
  std::uint8_t* panel;  // of weights
  std::uint8_t* lines;  // of weights

  GradMemory(Parts& parts, std::int64_t d)
      : space(parts.Take<digit::PackSpace<Kernel>>(1)),
        keys(parts, d),
        queries(parts, d),
        weights(parts, d),
        panel(parts.Take(Kernel::PanelBytes(kKeyBlock))),
        lines(parts.Take(kKeyBlock * Kernel::LineBytes(kQueryBlock))) {}
};

template <class Kernel>
class GradBlocks {
 public:
  GradBlocks(const DigitGradInputs& in, const Dropout* dropout, const GradMemory<Kernel>& memory)
      : in_(in), g_(in.g), dropout_(dropout), memory_(memory), keys_(memory.keys), queries_(memory.queries) {}

  void SetKeys(std::int64_t b, std::int64_t key_head, std::int64_t first) {
    keys_.first = first;
    keys_.count = std::min(kKeyBlock, g_.tk - first);
    keys_.Pack(in_, b, key_head, *memory_.space);
  }
  // Keys that were packed elsewhere.
  void SetKeys(const KeyBlock<Kernel>& keys) { keys_ = keys; }

  void SetQueries(std::int64_t b, std::int64_t h, std::int64_t first) {
    queries_.b = b;
    queries_.h = h;
    queries_.first = first;
    queries_.count = std::min(kQueryBlock, g_.tq - first);
    queries_.Pack(in_, *memory_.space);
    std::fill_n(queries_.dq, g_.d * kQueryBlock, 0.0f);
  }

  std::int64_t VisibleKeys() const { return g_.Visible(queries_.first + queries_.count - 1); }

  void FindWeights() {
    const Weights& w = memory_.weights;
    const std::int64_t visible = std::min(keys_.count, VisibleKeys() - keys_.first);
    for (std::int64_t t = 0; t < queries_.tiles(); ++t) {
      Products(0, t, visible, keys_.keys, w.p);
      Products(1, t, visible, keys_.values, w.ds);
      const std::int64_t query = queries_.first + t * kTile;
      if (dropout_ != nullptr) {
        dropout_->Keep(queries_.b, queries_.h, query, std::min(kTile, g_.tq - query), keys_.first, visible, w.rows, w.keep);
      }
      for (std::int64_t j = 0; j < visible; ++j) TileWeights(t, j);
    }
    for (float* block : {w.of_q, w.of_k, w.of_v})
      std::fill(block + visible * kQueryBlock, block + keys_.count * kQueryBlock, 0.0f);
  }

  // dq after this block of keys.
  void AddToQueries() {
    for (std::int64_t t = 0; t < queries_.tiles(); ++t) {
      digit::PackAdjacentPanel<Kernel>(memory_.weights.of_q + t * kTile, kQueryBlock, kTile, keys_.count, memory_.panel);
      float* totals = queries_.dq + t * kTile;
      const std::int64_t first_lane = g_.FirstQuery(keys_.first) - (queries_.first + t * kTile);
      const HiddenLanes hidden(std::clamp<std::int64_t>(first_lane, 0, kTile), totals, kQueryBlock, g_.d,
                               memory_.weights.saved);
      digit::Tile tile = BlockTile<Kernel>(memory_.panel, keys_.count, kTile, true, false);
      digit::MultiplyRows<Kernel>(
          tile, 0, g_.d, [&](std::int64_t row) { return keys_.columns + row * Kernel::LineBytes(keys_.count); },
          [&](std::int64_t row) { return totals + row * kQueryBlock; });
      hidden.Restore();
    }
  }

  // dk and dv of the keys after this block of queries. Both are in the result from the start.
  void AddToKeys() {
    AddToKeys(memory_.weights.of_k, queries_.columns[0], in_.dk);
    AddToKeys(memory_.weights.of_v, queries_.columns[1], in_.dv);
  }

  void StoreQueries() const {
    Transpose(queries_.dq, kQueryBlock, g_.d, queries_.count, in_.dq + g_.QueryRow(queries_.b, queries_.first, queries_.h),
              g_.hq * g_.d);
  }

 private:
  void Products(int side, std::int64_t t, std::int64_t visible, const std::uint8_t* lines, float* to) const {
    digit::Tile tile = BlockTile<Kernel>(queries_.panels[side] + t * Kernel::PanelBytes(g_.d), g_.d, kTile, false, true);
    digit::MultiplyRows<Kernel>(
        tile, 0, visible, [&](std::int64_t row) { return lines + row * Kernel::LineBytes(g_.d); },
        [&](std::int64_t row) { return to + row * kQueryBlock + t * kTile; });
  }

  // The weights of key j and tile t.
  HWY_INLINE void TileWeights(std::int64_t t, std::int64_t j) const {
    const Weights& w = memory_.weights;
    const F scale = Simd::Set(g_.scale), key_scale = Simd::Set(keys_.scales[j]);
    const std::int64_t begin = g_.FirstQuery(keys_.first + j) - queries_.first;  // of the queries that see the key
    for (int u = 0; u < 2; ++u) {
      const std::int64_t lane = t * kTile + u * kLanes, at = j * kQueryBlock + lane;
      const F number = hn::Iota(Simd::D(), static_cast<float>(lane));
      const Simd::M sees = hn::And(Simd::Ge(number, Simd::Set(static_cast<float>(begin))),
                                   hn::Lt(number, Simd::Set(static_cast<float>(queries_.count))));
      const F score = Simd::Mul(Simd::Load(w.p + at), scale);
      const F p = nm::Exp<Simd>(Simd::Sub(score, Simd::Load(queries_.lse + lane)));
      F dp = Simd::Load(w.ds + at), kept = p;
      if (dropout_ != nullptr) {
        const F keep = Simd::Load(w.keep + j * kTile + u * kLanes);
        dp = Simd::Mul(dp, keep);
        kept = Simd::Mul(p, keep);
      }
      const F ds = Simd::Mul(Simd::Mul(p, Simd::Sub(dp, Simd::Load(queries_.delta + lane))), scale);
      Simd::Store(hn::IfThenElseZero(sees, Simd::Mul(ds, key_scale)), w.of_q + at);
      Simd::Store(hn::IfThenElseZero(sees, Simd::Mul(ds, Simd::Load(queries_.scales[0] + lane))), w.of_k + at);
      Simd::Store(hn::IfThenElseZero(sees, Simd::Mul(kept, Simd::Load(queries_.scales[1] + lane))), w.of_v + at);
    }
  }

  void AddToKeys(const float* weights, const std::uint8_t* columns, float* result) const {
    const std::int64_t visible = std::min(keys_.count, VisibleKeys() - keys_.first), bytes = Kernel::LineBytes(queries_.count);
    for (std::int64_t j = 0; j < visible; ++j) {
      digit::PackContiguousLine<Kernel>(weights + j * kQueryBlock, queries_.count, memory_.lines + j * bytes);
    }
    float* totals = result + g_.KeyRow(queries_.b, keys_.first, g_.KeyHead(queries_.h));
    for (std::int64_t d = 0; d < g_.d; d += kTile) {
      digit::Tile tile = BlockTile<Kernel>(columns, queries_.count, std::min(kTile, g_.d - d), true, false);
      digit::MultiplyRows<Kernel>(
          tile, 0, visible, [&](std::int64_t row) { return memory_.lines + row * bytes; },
          [&](std::int64_t row) { return totals + row * g_.hkv * g_.d + d; });
      columns += Kernel::PanelBytes(queries_.count);
    }
  }

  const DigitGradInputs& in_;
  const ops::AttentionGeometry& g_;
  const Dropout* dropout_;
  const GradMemory<Kernel>& memory_;
  KeyBlock<Kernel> keys_;
  QueryBlock<Kernel> queries_;
};

template <class Kernel>
void RunGradByDigits(const DigitGradInputs& in, const Dropout* dropout, Context& context) {
  const ops::AttentionGeometry& g = in.g;
  const std::int64_t blocks = (g.tk + kKeyBlock - 1) / kKeyBlock, query_blocks = (g.tq + kQueryBlock - 1) / kQueryBlock;
  const std::int64_t pairs = g.batch * g.hkv;
  const auto worker_bytes = [&] {
    Parts parts(nullptr);
    GradMemory<Kernel> counted(parts, g.d);
    return parts.bytes();
  }();
  const auto block_bytes = [&] {
    Parts parts(nullptr);
    KeyBlock<Kernel> counted(parts, g.d);
    return parts.bytes();
  }();
  const bool enough = pairs >= context.pool().threads();
  // The packed keys of a pair: a worker's own, or where pairs are few those of all of them.
  auto* shared = enough ? nullptr
                        : static_cast<std::uint8_t*>(
                              context.Scratch(Context::kShared, static_cast<std::size_t>(pairs * blocks) * block_bytes));
  const auto memory_of = [&](int worker) {
    const std::size_t own = enough ? static_cast<std::size_t>(blocks) * block_bytes : 0;
    return static_cast<std::uint8_t*>(context.Scratch(worker, worker_bytes + own));
  };
  const auto packed = [&](std::uint8_t* memory, std::int64_t block) {
    Parts parts(memory + static_cast<std::size_t>(block) * block_bytes);
    KeyBlock<Kernel> keys(parts, g.d);
    keys.first = block % blocks * kKeyBlock;
    keys.count = std::min(kKeyBlock, g.tk - keys.first);
    return keys;
  };
  std::fill_n(in.dk, pairs * g.tk * g.d, 0.0f);
  std::fill_n(in.dv, pairs * g.tk * g.d, 0.0f);
  if (enough) {
    context.pool().ParallelFor(pairs, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
      std::uint8_t* bytes = memory_of(worker);
      Parts parts(bytes);
      const GradMemory<Kernel> memory(parts, g.d);
      GradBlocks<Kernel> work(in, dropout, memory);
      for (std::int64_t pair = begin; pair < end; ++pair) {
        const std::int64_t b = pair / g.hkv, key_head = pair % g.hkv;
        for (std::int64_t i = 0; i < blocks; ++i) packed(bytes + worker_bytes, i).Pack(in, b, key_head, *memory.space);
        for (std::int64_t h = key_head * g.group(); h < (key_head + 1) * g.group(); ++h) {
          for (std::int64_t query = 0; query < g.tq; query += kQueryBlock) {
            work.SetQueries(b, h, query);
            for (std::int64_t i = 0; i * kKeyBlock < work.VisibleKeys(); ++i) {
              work.SetKeys(packed(bytes + worker_bytes, i));
              work.FindWeights();
              work.AddToQueries();
              work.AddToKeys();
            }
            work.StoreQueries();
          }
        }
      }
    });
    return;
  }
  context.pool().ParallelFor(pairs * blocks, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
    Parts parts(memory_of(worker));
    const GradMemory<Kernel> memory(parts, g.d);
    for (std::int64_t i = begin; i < end; ++i)
      packed(shared, i).Pack(in, i / blocks / g.hkv, i / blocks % g.hkv, *memory.space);
  });
  context.pool().ParallelFor(g.batch * g.hq * query_blocks, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
    Parts parts(memory_of(worker));
    const GradMemory<Kernel> memory(parts, g.d);
    GradBlocks<Kernel> work(in, dropout, memory);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t b = unit / query_blocks / g.hq, h = unit / query_blocks % g.hq;
      work.SetQueries(b, h, unit % query_blocks * kQueryBlock);
      for (std::int64_t i = 0; i * kKeyBlock < work.VisibleKeys(); ++i) {
        work.SetKeys(packed(shared, (b * g.hkv + g.KeyHead(h)) * blocks + i));
        work.FindWeights();
        work.AddToQueries();
      }
      work.StoreQueries();
    }
  });
  context.pool().ParallelFor(pairs * blocks, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
    Parts parts(memory_of(worker));
    const GradMemory<Kernel> memory(parts, g.d);
    GradBlocks<Kernel> work(in, dropout, memory);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t pair = unit / blocks, first = unit % blocks * kKeyBlock;
      work.SetKeys(packed(shared, unit));
      for (std::int64_t h = pair % g.hkv * g.group(); h < (pair % g.hkv + 1) * g.group(); ++h) {
        for (std::int64_t query = g.FirstQuery(first) / kQueryBlock * kQueryBlock; query < g.tq; query += kQueryBlock) {
          work.SetQueries(pair / g.hkv, h, query);
          work.FindWeights();
          work.AddToKeys();
        }
      }
    }
  });
}

}  // namespace
}  // namespace attention

void AttentionGradByDigits(const KernelArgs& args, Context& context) {
  const ops::AttentionGeometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const attention::DigitGradInputs in{g,
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
  digit::WithKernel(context.digit_unit(), ops::DigitsOf(*args.op),
                    [&](auto kernel) HWY_ATTR { attention::RunGradByDigits<decltype(kernel)>(in, dropout, context); });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
