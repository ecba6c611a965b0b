// attention: tiles of queries in parallel, each walking its visible keys in blocks of 64 with a running maximum and sum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/attention.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <limits>

#include "assay/backend/cpu/attention_digits-inl.h"
#include "assay/backend/cpu/attention_softmax-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/ops/digits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace attention {

// One worker's memory.
struct Scratch {
  float* q_lanes;  // [d][kTile]
  float* o_lanes;  // [d][kTile]
  float* p;        // [kKeyBlock][kTile]
  float* keep;     // [kKeyBlock][kTile]
  float* rows;     // [kTile][kKeyBlock]

  static std::int64_t Floats(std::int64_t d) { return (2 * d + 3 * kKeyBlock) * kTile; }
  Scratch(float* memory, std::int64_t d)
      : q_lanes(memory),
        o_lanes(q_lanes + d * kTile),
        p(o_lanes + d * kTile),
        keep(p + kKeyBlock * kTile),
        rows(keep + kKeyBlock * kTile) {}
};

// o = o · alpha, then the block's chain of p · v.
inline void AddValues(const Visibility& visibility, std::int64_t first, const float* v, std::int64_t key_stride, std::int64_t d,
                      const Running& running, const float* p, float* o_lanes) {
  InRegisterTiles(d, [&](auto rows, std::int64_t row) HWY_ATTR {
    Sums<rows.value> sums;
    if (first == 0) {
      SetZero<rows.value>(sums);
    } else {
      LoadSums<rows.value>(sums, o_lanes + row * kTile, kTile);
      const F alpha0 = Simd::Load(running.alpha), alpha1 = Simd::Load(running.alpha + kLanes);
      for (int r = 0; r < rows.value; ++r) {
        sums[r][0] = Simd::Mul(sums[r][0], alpha0);
        sums[r][1] = Simd::Mul(sums[r][1], alpha1);
      }
    }
    ChainVisible<rows.value>(sums, {v + row, 1, key_stride}, p, visibility, first);
    StoreSums<rows.value>(sums, o_lanes + row * kTile, kTile);
  });
}

inline void Tile(const Inputs& in, const Dropout* dropout, const Scratch& scratch, std::int64_t b, std::int64_t h,
                 std::int64_t query) {
  const ops::AttentionGeometry& g = in.g;
  const std::int64_t count = std::min(kTile, g.tq - query);
  const std::int64_t key_stride = g.hkv * g.d;
  const Visibility visibility = VisibilityOf(g, query);
  ToLanes(in.q + g.QueryRow(b, query, h), g.hq * g.d, count, g.d, scratch.q_lanes);
  Running running;
  std::fill_n(running.m, kTile, -std::numeric_limits<float>::infinity());
  std::fill_n(running.l, kTile, 0.0f);
  for (std::int64_t first = 0; first < visibility.most; first += kKeyBlock) {
    const std::int64_t keys = visibility.Any(first);
    const std::int64_t row = g.KeyRow(b, first, g.KeyHead(h));
    Scores(scratch.q_lanes, in.k + row, key_stride, keys, g.d, g.scale, scratch.p);
    Softmax(visibility, first, scratch.p, running);
    if (dropout != nullptr) {
      dropout->Keep(b, h, query, count, first, keys, scratch.rows, scratch.keep);
      for (std::int64_t i = 0; i < keys * kTile; i += kLanes) {
        Simd::Store(Simd::Mul(Simd::Load(scratch.p + i), Simd::Load(scratch.keep + i)), scratch.p + i);
      }
    }
    AddValues(visibility, first, in.v + row, key_stride, g.d, running, scratch.p, scratch.o_lanes);
  }
  Finish(in, b, h, query, count, running, scratch.o_lanes);
}

}  // namespace attention

void Run_attention(const KernelArgs& args, Context& context) {
  if (ops::DigitsOf(*args.op) != 0) return AttentionByDigits(args, context);
  const ops::AttentionGeometry g = ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const attention::Inputs in{
      g, args.In<float>(0), args.In<float>(1), args.In<float>(2), args.Out<float>(0), args.Out<float>(1)};
  const attention::Dropout dropout(in.g, args.In<std::uint32_t>(3));
  const std::int64_t tiles = (g.tq + attention::kTile - 1) / attention::kTile;
  const std::size_t bytes = static_cast<std::size_t>(attention::Scratch::Floats(g.d)) * sizeof(float);
  context.pool().ParallelFor(g.batch * g.hq * tiles, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
    const attention::Scratch scratch(static_cast<float*>(context.Scratch(worker, bytes)), g.d);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t row = unit / tiles;
      attention::Tile(in, g.dropout > 0 ? &dropout : nullptr, scratch, row / g.hq, row % g.hq, unit % tiles * attention::kTile);
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
