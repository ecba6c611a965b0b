// A contraction shared out among threads: C is cut into a grid of rectangles, each computed by one thread from panels of its own.
//
// Threads share no packed data. Packing an operand once for all costs more in cache lines that travel between cores than it saves,
// as long as a rectangle is large enough; the grid is chosen to make it so.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/gemm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <limits>

#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/gemm_loops-inl.h"
#include "assay/base/check.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

// Below this many multiplications a second thread costs more than it helps.
constexpr std::int64_t kSerialWork = 200000;

struct Grid {
  std::int64_t rows = 1, columns = 1;  // how many rectangles in each direction
};

// The grid with the least expected loss: packing (cycles per element packed against elements of C per cycle), threads that wait for
// the longest share, and how badly a thread that is held up by something else would delay the others.
Grid ChooseGrid(const Contraction& task, std::int64_t threads) {
  if (threads == 1 || task.m * task.n * task.k < kSerialWork) return {};
  const std::int64_t row_panels = DivideUp(task.m, kTileRows), column_panels = DivideUp(task.n, kTileColumns);
  const double cost = 0.4 * 16;  // cycles per element packed, or read in place and fetched, times sums per cycle
  Grid best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t per_thread : {1, 2, 4}) {
    for (std::int64_t rows = 1; rows <= std::min(row_panels, threads * per_thread); ++rows) {
      const std::int64_t columns = std::min(column_panels, DivideUp(threads * per_thread, rows));
      const double turns = static_cast<double>(DivideUp(rows * columns, threads) * threads);
      const double longest = static_cast<double>(DivideUp(row_panels, rows) * DivideUp(column_panels, columns));
      const double waiting = turns * longest / static_cast<double>(row_panels * column_panels) - 1.0;
      const double packing = cost * (static_cast<double>(columns) / static_cast<double>(task.n) +
                                     static_cast<double>(rows) / static_cast<double>(task.m));
      const double loss = waiting + packing + 0.02 / static_cast<double>(per_thread);
      if (loss < least) {
        least = loss;
        best = {rows, columns};
      }
    }
  }
  return best;
}

// Lines [begin, end) of part `index` of `parts`, in whole panels of `width`.
void CutPanels(std::int64_t lines, std::int64_t width, std::int64_t parts, std::int64_t index, std::int64_t& begin,
               std::int64_t& end) {
  const std::int64_t panels = DivideUp(lines, width);
  begin = panels * index / parts * width;
  end = std::min(lines, panels * (index + 1) / parts * width);
}

void RunRectangle(const Contraction& task, const Rectangle& part, Context& context, int worker) {
  if (part.rows == 0 || part.columns == 0) return;
  const Loops loops(task, part);
  loops.Run(static_cast<float*>(context.Scratch(worker, static_cast<std::size_t>(loops.scratch_floats()) * sizeof(float))));
}

void FillZero(const Contraction& task, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    float* row = task.c + (task.c_rows != nullptr ? task.c_rows[i] : i * task.c_stride);
    std::fill(row, row + task.n, 0.0f);
  }
}

}  // namespace

std::size_t Operand::RowRuns(std::int64_t, std::int64_t, std::int64_t, RowRun*) const {
  CheckFailed("rows in place", __FILE__, __LINE__);
}
const float* Operand::Adjacent(std::int64_t, std::int64_t) const { CheckFailed("adjacent lines", __FILE__, __LINE__); }
void Operand::ColumnPointers(std::int64_t, std::int64_t, std::int64_t, const float**) const {
  CheckFailed("columns in place", __FILE__, __LINE__);
}

void Gemm(const Contraction& task, Context& context, int worker) {
  if (task.m == 0 || task.n == 0) return;
  if (worker != Context::kShared) {
    if (task.k == 0) {
      FillZero(task, 0, task.m);
    } else {
      RunRectangle(task, {0, task.m, 0, task.n}, context, worker);
    }
    return;
  }
  if (task.k == 0) {
    context.pool().ParallelFor(task.m, DivideUp(kSerialWork, task.n),
                               [&](std::int64_t begin, std::int64_t end, int) { FillZero(task, begin, end); });
    return;
  }
  const Grid grid = ChooseGrid(task, context.pool().threads());
  context.pool().ParallelFor(grid.rows * grid.columns, 1, [&](std::int64_t begin, std::int64_t end, int thread) HWY_ATTR {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t row_begin, row_end, column_begin, column_end;
      CutPanels(task.m, kTileRows, grid.rows, i / grid.columns, row_begin, row_end);
      CutPanels(task.n, kTileColumns, grid.columns, i % grid.columns, column_begin, column_end);
      RunRectangle(task, {row_begin, row_end - row_begin, column_begin, column_end - column_begin}, context, thread);
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
