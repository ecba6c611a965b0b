// Column reductions of a matrix (docs/NUMERICS.md, section 2: colsum, coldot), vectorised over the columns.
//
// A block of 64 rows is read four rows at a time: memory sees a few sequential streams, and the running sums of a row of blocks stay in
// the first-level cache. Threads share out blocks and column ranges; neither choice can be seen in a result.
//
// Include it as numerics/simd-inl.h is included. Uses the context's shared scratch; one call at a time.

#if defined(ASSAY_BACKEND_CPU_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_COLUMNS_INL_H_
#undef ASSAY_BACKEND_CPU_COLUMNS_INL_H_
#else
#define ASSAY_BACKEND_CPU_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/rows-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::columns {
using rows::F;
using rows::S;

// Rows read together. Four share the loads of running sums and column constants; but where rows are short, a single one keeps memory a plain
// sequential stream, which counts for more once the matrix does not fit in cache.
inline constexpr std::int64_t kRowGroup = 4;
inline constexpr std::int64_t kShortRow = 1024;
inline constexpr std::int64_t kStreamFloats = std::int64_t{1} << 22;

inline std::int64_t Blocks(std::int64_t row_count) {
  return std::max<std::int64_t>(1, (row_count + numerics::kColumnBlock - 1) / numerics::kColumnBlock);
}

// Calls body(c, io) for the vectors of columns [begin, end).
template <class Body>
HWY_INLINE void ForEachColumn(Range cols, const Body& body) {
  rows::ForEachVector(cols.size(), [&](std::int64_t i, auto io) HWY_ATTR { body(cols.begin + i, io); });
}

// The sums of one block's rows [first, last), at most 64: N of them for each column of `cols`, sum k of column c at sums[k * width + c].
// make(c, io) returns the term of column vector c, called as term(acc, row).
template <int N, std::int64_t kGroup = kRowGroup, class Make>
HWY_INLINE void ReduceBlock(std::int64_t first, std::int64_t last, Range cols, std::int64_t width, const Make& make,
                            float* sums) {
  std::int64_t row = first;
  ForEachColumn(cols, [&](std::int64_t c, auto io) HWY_ATTR {
    const auto term = make(c, io);
    F acc[N];
    for (F& a : acc) a = S::Set(0.0f);
    const std::int64_t end = std::min(first + kGroup, last);
    for (std::int64_t r = first; r < end; ++r) term(acc, r);
    for (int k = 0; k < N; ++k) io.Store(acc[k], sums + k * width + c);
  });
  for (row += kGroup; row + kGroup <= last; row += kGroup) {
    ForEachColumn(cols, [&](std::int64_t c, auto io) HWY_ATTR {
      const auto term = make(c, io);
      F acc[N];
      for (int k = 0; k < N; ++k) acc[k] = io.Load(sums + k * width + c);
#pragma GCC unroll 4
      for (std::int64_t r = 0; r < kGroup; ++r) term(acc, row + r);
      for (int k = 0; k < N; ++k) io.Store(acc[k], sums + k * width + c);
    });
  }
  for (; row < last; ++row) {
    ForEachColumn(cols, [&](std::int64_t c, auto io) HWY_ATTR {
      const auto term = make(c, io);
      F acc[N];
      for (int k = 0; k < N; ++k) acc[k] = io.Load(sums + k * width + c);
      term(acc, row);
      for (int k = 0; k < N; ++k) io.Store(acc[k], sums + k * width + c);
    });
  }
}

// Adds up `count` rows of `stride` floats in the order of a column reduction, in place: the total is left in the first row. A group's sum
// lands on a row that no later group reads.
HWY_INLINE void Combine(float* sums, std::int64_t count, std::int64_t stride, Range cols) {
  for (; count > 1; count = Blocks(count)) {
    for (std::int64_t group = 0; group < Blocks(count); ++group) {
      const std::int64_t first = group * numerics::kColumnBlock;
      const std::int64_t last = std::min(first + numerics::kColumnBlock, count);
      ForEachColumn(cols, [&](std::int64_t c, auto io) HWY_ATTR {
        F acc = S::Set(0.0f);
        for (std::int64_t r = first; r < last; ++r) acc = S::Add(acc, io.Load(sums + r * stride + c));
        io.Store(acc, sums + group * stride + c);
      });
    }
  }
}

// Floats of scratch that Reduce takes, and where callers may put their own behind it.
template <int N>
HWY_INLINE std::int64_t ScratchFloats(std::int64_t row_count, std::int64_t width) {
  return Blocks(row_count) * N * width;
}

// Which end of the matrix to begin at. A pass that begins where the one before it ended finds the last rows still in cache.
enum class Direction { kDown, kUp };

// N reductions over all rows; sum k of column c is at [k * width + c] of `sums`, which has room for ScratchFloats.
template <int N, class Make>
HWY_INLINE void Reduce(Context& context, std::int64_t row_count, std::int64_t width, const Make& make, float* sums,
                       Direction direction = Direction::kDown) {
  const std::int64_t blocks = Blocks(row_count);
  const std::int64_t stride = N * width;
  const bool stream = row_count * width >= kStreamFloats && width <= kShortRow;
  // Whole rows where there are blocks enough to share out; ranges of columns otherwise.
  const std::int64_t chunk = blocks >= 16 ? width : std::min<std::int64_t>(width, 512);
  const std::int64_t chunks = chunk == 0 ? 0 : (width + chunk - 1) / chunk;
  const std::int64_t grain = std::max<std::int64_t>(1, 32768 / std::max<std::int64_t>(1, numerics::kColumnBlock * chunk));
  context.pool().ParallelFor(blocks * chunks, grain, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t task = direction == Direction::kDown ? i : blocks * chunks - end + (i - begin);
      const std::int64_t block = task / chunks;
      const std::int64_t c = task % chunks * chunk;
      const std::int64_t first = block * numerics::kColumnBlock;
      const std::int64_t last = std::min(first + numerics::kColumnBlock, row_count);
      const Range cols{c, std::min(c + chunk, width)};
      if (stream) {
        ReduceBlock<N, 1>(first, last, cols, width, make, sums + block * stride);
      } else {
        ReduceBlock<N>(first, last, cols, width, make, sums + block * stride);
      }
    }
  });
  if (blocks == 1) return;
  context.pool().ParallelFor(stride, std::max<std::int64_t>(64, 65536 / blocks / 64 * 64),
                             [&](std::int64_t begin, std::int64_t end, int)
                                 HWY_ATTR { Combine(sums, blocks, stride, {begin, end}); });
}

// The same in the context's shared scratch.
template <int N, class Make>
HWY_INLINE const float* Reduce(Context& context, std::int64_t row_count, std::int64_t width, const Make& make) {
  const std::int64_t floats = ScratchFloats<N>(row_count, width);
  auto* sums = static_cast<float*>(context.Scratch(Context::kShared, static_cast<std::size_t>(floats) * sizeof(float)));
  Reduce<N>(context, row_count, width, make, sums);
  return sums;
}

// Calls make(c, io)(row) for every row and column vector of a matrix that is written to `out`; rows are shared out. A matrix that does not
// fit in cache is written past it, so that its lines are not read first.
template <class Make>
HWY_INLINE void ForEachRow(Context& context, std::int64_t row_count, std::int64_t width, const float* out, const Make& make,
                           Direction direction = Direction::kDown) {
  const bool stream = row_count * width >= kStreamFloats && width % rows::kVector == 0 &&
                      reinterpret_cast<std::uintptr_t>(out) % (sizeof(float) * S::kLanes) == 0;
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, width));
  context.pool().ParallelFor(row_count, grain, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    std::int64_t row = direction == Direction::kDown ? begin : row_count - end;
    const std::int64_t last = row + (end - begin);
    if (stream) {
      for (; row < last; ++row) {
        for (std::int64_t c = 0; c < width; c += rows::kVector) make(c, rows::PastCache{})(row);
      }
      hwy::FlushStream();
      return;
    }
    for (; row + kRowGroup <= last; row += kRowGroup) {
      rows::ForEachVector(width, [&](std::int64_t c, auto io) HWY_ATTR {
        const auto apply = make(c, io);
#pragma GCC unroll 4
        for (std::int64_t r = 0; r < kRowGroup; ++r) apply(row + r);
      });
    }
    for (; row < last; ++row) {
      rows::ForEachVector(width, [&](std::int64_t c, auto io) HWY_ATTR { make(c, io)(row); });
    }
  });
}

HWY_INLINE void StoreCanonical(const float* from, std::int64_t n, float* to) {
  rows::ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR { io.Store(S::Canonical(io.Load(from + i)), to + i); });
}

}  // namespace assay::cpu::HWY_NAMESPACE::columns
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_BACKEND_CPU_COLUMNS_INL_H_
