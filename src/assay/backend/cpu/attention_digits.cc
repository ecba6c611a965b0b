// attention with digits: as attention.cc, with a tile of queries as a panel and keys and columns of values as lines, which are packed once for
// all queries.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/attention_digits.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <limits>
#include <new>

#include "assay/backend/cpu/attention_digit_rows-inl.h"
#include "assay/backend/cpu/attention_digits-inl.h"
#include "assay/backend/cpu/attention_softmax-inl.h"
#include "assay/ops/digits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace attention {
namespace {

// The keys and values of one (batch, key head).
template <class Kernel>
struct PackedKeys {
  std::int64_t keys, d;
  std::uint8_t* lines;    // of keys
  std::uint8_t* columns;  // of values: lines of d columns for each block of keys
  float* scales;          // of values
  float* factors;

  PackedKeys(Parts& parts, std::int64_t key_count, std::int64_t width)
      : keys(key_count),
        d(width),
        lines(parts.Take(key_count * Kernel::LineBytes(width))),
        columns(parts.Take((key_count + kKeyBlock - 1) / kKeyBlock * width * Kernel::LineBytes(kKeyBlock))),
        scales(parts.Take<float>(key_count)),
        factors(parts.Take<float>(key_count)) {}

  std::int64_t Block(std::int64_t first) const { return std::min(kKeyBlock, keys - first); }
  std::uint8_t* Key(std::int64_t j) const { return lines + j * Kernel::LineBytes(d); }
  std::uint8_t* Columns(std::int64_t first) const { return columns + first / kKeyBlock * d * Kernel::LineBytes(kKeyBlock); }

  HWY_INLINE void Pack(const float* k, const float* v, std::int64_t stride, std::int64_t first,
                       digit::PackSpace<Kernel>& space) const {
    const std::int64_t count = Block(first);
    for (std::int64_t j = first; j < first + count; ++j) {
      digit::PackContiguousLine<Kernel>(k + j * stride, d, Key(j));
      RowScale(v + j * stride, d, Kernel::kDigits, factors[j], scales[j]);
    }
    PackColumnLines<Kernel>(v + first * stride, stride, d, count, factors + first, space, Columns(first));
  }
};

// One worker's memory.
template <class Kernel>
struct DigitScratch {
  digit::PackSpace<Kernel>* space;
  std::uint8_t* queries;  // a panel
  std::uint8_t* weights;  // a panel
  float* o_lanes;         // [d][kTile]
  float* saved;           // [d][kTile]
  float* p;               // [kKeyBlock][kTile]
  float* keep;            // [kKeyBlock][kTile]
  float* rows;            // [kTile][kKeyBlock]

  DigitScratch(Parts& parts, std::int64_t d)
      : space(parts.Take<digit::PackSpace<Kernel>>(1)),
        queries(parts.Take(Kernel::PanelBytes(d))),
        weights(parts.Take(Kernel::PanelBytes(kKeyBlock))),
        o_lanes(parts.Take<float>(d * kTile)),
        saved(parts.Take<float>(d * kTile)),
        p(parts.Take<float>(kKeyBlock * kTile)),
        keep(parts.Take<float>(kKeyBlock * kTile)),
        rows(parts.Take<float>(kKeyBlock * kTile)) {}
};

// o = o · alpha, then the block's sum of w and the digits of v, w being p' times the scale of v.
template <class Kernel>
HWY_INLINE void AddValuesByDigits(const PackedKeys<Kernel>& keys, const Visibility& visibility, std::int64_t first,
                                  const Running& running, const DigitScratch<Kernel>& scratch) {
  const std::int64_t d = keys.d, count = keys.Block(first), common = visibility.Common(first);
  for (std::int64_t j = 0; j < count; ++j) {
    const F scale = Simd::Set(keys.scales[first + j]);
    for (int u = 0; u < 2; ++u) {
      float* at = scratch.p + j * kTile + u * kLanes;
      F w = Simd::Mul(Simd::Load(at), scale);
      if (j >= common) w = hn::IfThenElseZero(visibility.Sees(first + j, u), w);
      Simd::Store(w, at);
    }
  }
  digit::PackAdjacentPanel<Kernel>(scratch.p, kTile, kTile, count, scratch.weights);
  // A query that sees none of these keys keeps its o; alpha is 1 there.
  const HiddenLanes hidden(first == 0 ? 0 : std::min(kTile, visibility.FirstLane(first)), scratch.o_lanes, kTile, d,
                           scratch.saved);
  for (std::int64_t i = 0; first != 0 && i < d * kTile; i += kLanes) {
    Simd::Store(Simd::Mul(Simd::Load(scratch.o_lanes + i), Simd::Load(running.alpha + i % kTile)), scratch.o_lanes + i);
  }
  digit::Tile tile = BlockTile<Kernel>(scratch.weights, count, kTile, true, first == 0);
  const std::uint8_t* columns = keys.Columns(first);
  digit::MultiplyRows<Kernel>(
      tile, 0, d, [&](std::int64_t row) { return columns + row * Kernel::LineBytes(count); },
      [&](std::int64_t row) { return scratch.o_lanes + row * kTile; });
  hidden.Restore();
}

template <class Kernel>
HWY_INLINE void TileByDigits(const Inputs& in, const Dropout* dropout, const PackedKeys<Kernel>& keys,
                             const DigitScratch<Kernel>& scratch, std::int64_t b, std::int64_t h, std::int64_t query) {
  const ops::AttentionGeometry& g = in.g;
  const std::int64_t count = std::min(kTile, g.tq - query);
  const Visibility visibility = VisibilityOf(g, query);
  digit::PackContiguousPanel<Kernel>(in.q + g.QueryRow(b, query, h), g.hq * g.d, count, g.d, *scratch.space, scratch.queries);
  Running running;
  std::fill_n(running.m, kTile, -std::numeric_limits<float>::infinity());
  std::fill_n(running.l, kTile, 0.0f);
  const F scale = Simd::Set(g.scale);
  for (std::int64_t first = 0; first < visibility.most; first += kKeyBlock) {
    const std::int64_t visible = visibility.Any(first);
    digit::Tile tile = BlockTile<Kernel>(scratch.queries, g.d, kTile, false, true);
    digit::MultiplyRows<Kernel>(
        tile, 0, visible, [&](std::int64_t row) { return keys.Key(first + row); },
        [&](std::int64_t row) { return scratch.p + row * kTile; });
    for (std::int64_t i = 0; i < visible * kTile; i += kLanes) {
      Simd::Store(Simd::Mul(Simd::Load(scratch.p + i), scale), scratch.p + i);
    }
    Softmax(visibility, first, scratch.p, running);
    if (dropout != nullptr) {
      dropout->Keep(b, h, query, count, first, visible, scratch.rows, scratch.keep);
      for (std::int64_t i = 0; i < visible * kTile; i += kLanes) {
        Simd::Store(Simd::Mul(Simd::Load(scratch.p + i), Simd::Load(scratch.keep + i)), scratch.p + i);
      }
    }
    AddValuesByDigits(keys, visibility, first, running, scratch);
  }
  Finish(in, b, h, query, count, running, scratch.o_lanes);
}

template <class Kernel>
void RunByDigits(const Inputs& in, const Dropout* dropout, Context& context) {
  const ops::AttentionGeometry& g = in.g;
  const std::int64_t tiles = (g.tq + kTile - 1) / kTile, blocks = (g.tk + kKeyBlock - 1) / kKeyBlock, stride = g.hkv * g.d;
  const auto worker_bytes = [&] {
    Parts parts(nullptr);
    DigitScratch<Kernel> counted(parts, g.d);
    return parts.bytes();
  }();
  Parts one(nullptr);
  PackedKeys<Kernel> counted(one, g.tk, g.d);
  // The keys of one sequence at a time, for all its heads.
  auto* memory = static_cast<std::uint8_t*>(context.Scratch(Context::kShared, static_cast<std::size_t>(g.hkv) * one.bytes()));
  const auto keys_of = [&](std::int64_t key_head) {
    Parts parts(memory + static_cast<std::size_t>(key_head) * one.bytes());
    return PackedKeys<Kernel>(parts, g.tk, g.d);
  };
  const auto scratch_of = [&](int worker) {
    Parts parts(context.Scratch(worker, worker_bytes));
    return DigitScratch<Kernel>(parts, g.d);
  };
  for (std::int64_t b = 0; b < g.batch; ++b) {
    context.pool().ParallelFor(g.hkv * blocks, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
      const DigitScratch<Kernel> scratch = scratch_of(worker);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = g.KeyRow(b, 0, i / blocks);
        keys_of(i / blocks).Pack(in.k + row, in.v + row, stride, i % blocks * kKeyBlock, *scratch.space);
      }
    });
    context.pool().ParallelFor(g.hq * tiles, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
      const DigitScratch<Kernel> scratch = scratch_of(worker);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t h = i / tiles;
        TileByDigits<Kernel>(in, dropout, keys_of(g.KeyHead(h)), scratch, b, h, i % tiles * kTile);
      }
    });
  }
}

}  // namespace
}  // namespace attention

void AttentionByDigits(const KernelArgs& args, Context& context) {
  const ops::AttentionGeometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const attention::Inputs in{
      g, args.In<float>(0), args.In<float>(1), args.In<float>(2), args.Out<float>(0), args.Out<float>(1)};
  const attention::Dropout drawn(in.g, args.In<std::uint32_t>(3));
  const attention::Dropout* dropout = g.dropout > 0 ? &drawn : nullptr;
  digit::WithKernel(context.digit_unit(), ops::DigitsOf(*args.op),
                    [&](auto kernel) HWY_ATTR { attention::RunByDigits<decltype(kernel)>(in, dropout, context); });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
