// rope: cosines and sines of every (position, pair) are computed once per call, then all heads of all batches are turned with them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/rope.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/backend/cpu/kernels.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace rope {

namespace nm = numerics::HWY_NAMESPACE;
using nm::Simd;

constexpr std::int64_t kLanes = static_cast<std::int64_t>(Simd::kLanes);

// Positions x pairs; a row is padded to whole vectors so that it can be filled and read without tails.
struct Table {
  std::int64_t stride = 0;
  float* cosine = nullptr;
  float* sine = nullptr;
};

void FillTable(const KernelArgs& args, Table table, const float* frequency, std::int64_t begin, std::int64_t end) {
  const std::int64_t offset = args.attrs().Int(1);
  const bool inverse = args.attrs().Int(2) != 0;
  for (std::int64_t t = begin; t < end; ++t) {
    const Simd::F position = Simd::Set(static_cast<float>(offset + t));
    for (std::int64_t j = 0; j < table.stride; j += kLanes) {
      const Simd::F angle = Simd::Mul(position, Simd::Load(frequency + j));
      const Simd::F s = nm::Sin<Simd>(angle);
      Simd::Store(nm::Cos<Simd>(angle), table.cosine + t * table.stride + j);
      Simd::Store(inverse ? Simd::Neg(s) : s, table.sine + t * table.stride + j);
    }
  }
}

void TurnRow(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, const float* cosine, const float* sine, std::int64_t half) {
  std::int64_t j = 0;
  for (; j + kLanes <= half; j += kLanes) {
    const Simd::F low = Simd::Load(x + j), high = Simd::Load(x + j + half);
    const Simd::F c = Simd::Load(cosine + j), s = Simd::Load(sine + j);
    Simd::Store(Simd::Canonical(Simd::Fma(low, c, Simd::Neg(Simd::Mul(high, s)))), y + j);
    Simd::Store(Simd::Canonical(Simd::Fma(high, c, Simd::Mul(low, s))), y + j + half);
  }
  for (; j < half; ++j) {
    y[j] = numerics::CanonicalNan(std::fma(x[j], cosine[j], -(x[j + half] * sine[j])));
    y[j + half] = numerics::CanonicalNan(std::fma(x[j + half], cosine[j], x[j] * sine[j]));
  }
}

}  // namespace rope

void Run_rope(const KernelArgs& args, Context& context) {
  const Shape& shape = args.in_type(0).shape;
  if (shape.elements() == 0) return;
  const std::int64_t time = shape[1], heads = shape[2], width = shape[3], half = width / 2;
  rope::Table table;
  table.stride = (half + rope::kLanes - 1) / rope::kLanes * rope::kLanes;
  const std::int64_t entries = time * table.stride;
  float* scratch =
      static_cast<float*>(context.Scratch(Context::kShared, static_cast<std::size_t>(2 * entries) * sizeof(float)));
  table.cosine = scratch;
  table.sine = scratch + entries;
  std::vector<float> frequency(static_cast<std::size_t>(table.stride), 0.0f);
  for (std::int64_t j = 0; j < half; ++j) {
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(width);
    frequency[static_cast<std::size_t>(j)] = 1.0f / numerics::Pow<numerics::Scalar>(args.attrs().Float(0), exponent);
  }
  constexpr std::int64_t kGrain = 16384;  // elements
  context.pool().ParallelFor(time, std::max<std::int64_t>(1, kGrain / 4 / table.stride),
                             [&](std::int64_t begin, std::int64_t end, int)
                                 HWY_ATTR { rope::FillTable(args, table, frequency.data(), begin, end); });
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (heads * width));
  context.pool().ParallelFor(shape[0] * time, grain, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t entry = row % time * table.stride;
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t at = (row * heads + h) * width;
        rope::TurnRow(args.In<float>(0) + at, args.Out<float>(0) + at, table.cosine + entry, table.sine + entry, half);
      }
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
