// Kernels of embedding and embedding_grad.
//
// The gradient first sorts the positions by id, stably, so that each table row finds its own in ascending order; rows are then
// shared out, and runs of rows that nobody looked up are cleared in one stroke.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/embedding.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <bit>
#include <cstring>

#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/rows-inl.h"
#include "assay/ops/rules.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {
using namespace rows;  // NOLINT

// Positions by id: those of row r are order[ends[r - 1] .. ends[r]), ascending. Ids outside [0, row_count) are left out.
struct ById {
  std::int64_t* ends;
  std::int64_t* order;

  ById(Context& context, const std::int32_t* ids, std::int64_t positions, std::int64_t row_count) {
    const auto bytes = static_cast<std::size_t>(row_count + positions) * sizeof(std::int64_t);
    ends = static_cast<std::int64_t*>(context.Scratch(Context::kShared, bytes));
    order = ends + row_count;
    std::fill(ends, ends + row_count, 0);
    for (std::int64_t p = 0; p < positions; ++p) {
      if (ids[p] >= 0 && ids[p] < row_count) ++ends[ids[p]];
    }
    std::int64_t begin = 0;
    for (std::int64_t row = 0; row < row_count; ++row) {
      const std::int64_t count = ends[row];
      ends[row] = begin;
      begin += count;
    }
    for (std::int64_t p = 0; p < positions; ++p) {
      if (ids[p] >= 0 && ids[p] < row_count) order[ends[ids[p]]++] = p;
    }
  }
  std::int64_t Begin(std::int64_t row) const { return row == 0 ? 0 : ends[row - 1]; }
};

}  // namespace

void Run_embedding(const KernelArgs& args, Context& context) {
  const ops::MatrixView table = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = table.cols;
  context.pool().ParallelFor(args.in_type(1).elements(), Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int32_t id = args.In<std::int32_t>(1)[p];
      float* y = args.Out<float>(0) + p * n;
      if (id < 0 || id >= table.rows) {
        std::fill(y, y + n, std::bit_cast<float>(numerics::kCanonicalNan));
        continue;
      }
      const float* row = args.In<float>(0) + id * n;
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR { io.Store(S::Canonical(io.Load(row + i)), y + i); });
    }
  });
}

void Run_embedding_grad(const KernelArgs& args, Context& context) {
  const std::int64_t row_count = args.out_type(0).shape[0];
  const std::int64_t n = args.out_type(0).shape[1];
  const float* dy = args.In<float>(1);
  const ById by_id(context, args.In<std::int32_t>(0), args.in_type(0).elements(), row_count);
  const std::int64_t share = std::max<std::int64_t>(1, row_count / (8 * context.pool().threads()));
  context.pool().ParallelFor(row_count, std::min(share, 4 * Grain(n)), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t first = by_id.Begin(row);
      float* out = args.Out<float>(0) + row * n;
      if (by_id.ends[row] == first) {
        std::int64_t next = row + 1;
        while (next < end && by_id.ends[next] == first) ++next;
        std::memset(out, 0, static_cast<std::size_t>((next - row) * n) * sizeof(float));
        row = next;
        continue;
      }
      const std::int64_t last = by_id.ends[row];
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR {
        F acc = S::Set(0.0f);
        for (std::int64_t k = first; k < last; ++k) acc = S::Add(acc, io.Load(dy + by_id.order[k] * n + i));
        io.Store(S::Canonical(acc), out + i);
      });
      ++row;
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
