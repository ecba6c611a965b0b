#include "assay/backend/openblas/contraction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/backend/openblas/widen.h"
#include "assay/numerics/bounded.h"

namespace assay::rounded {
namespace {

// A tile's total and one block of its operands stay in the second-level cache, and packing them costs little beside multiplying.
constexpr std::int64_t kTileRows = 256, kTileColumns = 384;
constexpr std::int64_t kMinTileRows = 64, kMinTileColumns = 96;
// Of an FP32 contraction, whose calls take all of K where this suffices.
constexpr std::int64_t kSingleDepth = 4096;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Extents of tiles that cover `extent` evenly.
std::int64_t EvenTile(std::int64_t extent, std::int64_t most) {
  const std::int64_t even = CeilDiv(extent, CeilDiv(extent, most));
  return std::min(extent, CeilDiv(even, 8) * 8);
}

struct Tiling {
  std::int64_t rows = 0, columns = 0;
  std::int64_t down = 0, across = 0;  // numbers of tiles
  std::int64_t count() const { return down * across; }
};

Tiling TilingOf(const Contraction& task, std::int64_t wanted) {
  if (task.m == 0 || task.n == 0) return {};
  std::int64_t rows = kTileRows, columns = kTileColumns;
  Tiling tiling;
  for (;;) {
    tiling.rows = EvenTile(task.m, rows);
    tiling.columns = EvenTile(task.n, columns);
    tiling.down = CeilDiv(task.m, tiling.rows);
    tiling.across = CeilDiv(task.n, tiling.columns);
    if (tiling.count() >= wanted || (rows == kMinTileRows && columns == kMinTileColumns)) return tiling;
    if (task.n > columns / 2 && columns > kMinTileColumns && columns * 2 > rows * 3) {
      columns /= 2;
    } else if (rows > kMinTileRows) {
      rows /= 2;
    } else {
      columns /= 2;
    }
  }
}

struct Tile {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0;
};

// Of one worker; made for the largest tile.
template <class T>
struct Workspace {
  Workspace(Cutter cut, const Tile& largest, std::int64_t depth)
      : a(cut.Take<T>(largest.rows * depth)),
        b(cut.Take<T>(largest.columns * depth)),
        total(cut.Take<T>(largest.rows * largest.columns)),
        row(cut.Take<double>(largest.columns)),
        e(cut.Take<double>(largest.columns)),
        squares_a(cut.Take<double>(largest.rows)),
        squares_b(cut.Take<double>(largest.columns)),
        bytes(cut.used()) {}
  T *a, *b, *total;
  double *row, *e, *squares_a, *squares_b;
  std::size_t bytes;
};

void Fetch(const Operand& operand, std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, double* to,
           double* squares) {
  operand.Fetch(first, count, k0, depth, to, operand.k_adjacent() ? depth : count, squares);
}
void Fetch(const Operand& operand, std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to,
           double*) {
  operand.Fetch(first, count, k0, depth, to, operand.k_adjacent() ? depth : count);
}

template <class T>
void Multiply(const Contraction& task, const Tile& tile, std::int64_t block, bool bounds, const Workspace<T>& work,
              const Blas& blas) {
  double* squares_a = bounds ? work.squares_a : nullptr;
  double* squares_b = bounds ? work.squares_b : nullptr;
  if (bounds) {
    std::fill_n(squares_a, tile.rows, 0.0);
    std::fill_n(squares_b, tile.columns, 0.0);
  }
  if (task.k == 0) std::fill_n(work.total, tile.rows * tile.columns, T{0});
  for (std::int64_t k = 0; k < task.k; k += block) {
    const std::int64_t depth = std::min(block, task.k - k);
    Fetch(*task.a, tile.row, tile.rows, k, depth, work.a, squares_a);
    Fetch(*task.b, tile.column, tile.columns, k, depth, work.b, squares_b);
    blas.Gemm(!task.a->k_adjacent(), task.b->k_adjacent(), tile.rows, tile.columns, depth, work.a,
              task.a->k_adjacent() ? depth : tile.rows, work.b, task.b->k_adjacent() ? depth : tile.columns,
              k == 0 ? T{0} : T{1}, work.total, tile.columns);
  }
}

// E = depth(K) · u · |a| · |b| · (1 + 2^-20). Where a norm is not finite the result is not finite either, whatever the order.
void BoundRow(double factor, const double* norms, std::int64_t n, double* e) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double bound = factor * norms[j];
    e[j] = bound < std::numeric_limits<double>::infinity() ? bound : 0.0;
  }
}

void RunTile(const Contraction& task, const Tile& tile, const Output& output, const Workspace<double>& work, const Blas& blas) {
  bool bounds = false;
  for (std::int64_t i = 0; i < tile.rows && !bounds; ++i) {
    const std::int64_t at = task.Row(tile.row + i) + tile.column;
    bounds = output.WantsBounds(at, at + tile.columns);
  }
  Multiply(task, tile, numerics::ContractionBlock(task.k), bounds, work, blas);
  if (bounds) {
    for (std::int64_t j = 0; j < tile.columns; ++j) work.squares_b[j] = std::sqrt(work.squares_b[j]);
  }
  const double factor = numerics::ContractionDepth(task.k) * numerics::kUnit * (1 + 0x1p-20);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    const std::int64_t at = task.Row(tile.row + i) + tile.column;
    const bool wanted = bounds && output.WantsBounds(at, at + tile.columns);
    if (wanted) BoundRow(factor * std::sqrt(work.squares_a[i]), work.squares_b, tile.columns, work.e);
    output.Put(work.total + i * tile.columns, wanted ? work.e : nullptr, tile.columns, at);
  }
}

void RunTile(const Contraction& task, const Tile& tile, const Output& output, const Workspace<float>& work, const Blas& blas) {
  Multiply(task, tile, kSingleDepth, false, work, blas);
  for (std::int64_t i = 0; i < tile.rows; ++i) {
    Widen(work.total + i * tile.columns, tile.columns, work.row);
    output.Put(work.row, nullptr, tile.columns, task.Row(tile.row + i) + tile.column);
  }
}

template <class T>
void RunAll(std::span<const Contraction> tasks, const Output& output, Context& context) {
  const std::int64_t wanted =
      CeilDiv(2 * context.pool().threads(), std::max<std::int64_t>(1, static_cast<std::int64_t>(tasks.size())));
  std::vector<Tiling> tilings;
  std::vector<std::int64_t> ends;  // of each task's tiles
  Tile largest;
  std::int64_t tiles = 0, depth = 0;
  for (const Contraction& task : tasks) {
    tilings.push_back(TilingOf(task, context.pool().threads() == 1 ? 1 : wanted));
    largest.rows = std::max(largest.rows, tilings.back().rows);
    largest.columns = std::max(largest.columns, tilings.back().columns);
    tiles += tilings.back().count();
    ends.push_back(tiles);
    depth = std::max(depth, std::min(task.k, sizeof(T) == sizeof(float) ? kSingleDepth : numerics::ContractionBlock(task.k)));
  }
  const std::size_t bytes = Workspace<T>(Cutter(), largest, depth).bytes;
  context.pool().ParallelFor(tiles, 1, [&](std::int64_t begin, std::int64_t end, int worker) {
    const Workspace<T> work(Cutter(context.Scratch(worker, bytes)), largest, depth);
    for (std::int64_t t = begin; t < end; ++t) {
      const auto which = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), t) - ends.begin());
      const Contraction& task = tasks[which];
      const Tiling& tiling = tilings[which];
      const std::int64_t index = t - (ends[which] - tiling.count());
      Tile tile{.row = index / tiling.across * tiling.rows, .column = index % tiling.across * tiling.columns};
      tile.rows = std::min(tiling.rows, task.m - tile.row);
      tile.columns = std::min(tiling.columns, task.n - tile.column);
      RunTile(task, tile, output, work, context.blas());
    }
  });
}

}  // namespace

template <class T>
void RowLines::Copy(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, T* to, std::int64_t step,
                    double* squares) const {
  for (std::int64_t l = 0; l < count; ++l) {
    const float* from = base_ + (first + l) * line_ + k0;
    if (squares != nullptr) {
      squares[l] += WidenRow(from, depth, to + l * step);
    } else {
      Widen(from, depth, to + l * step);
    }
  }
}

template <class T>
void ColumnLines::Copy(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, T* to, std::int64_t step,
                       double* squares) const {
  const float* from = base_ + first + k0 * place_;
  if (squares != nullptr) return WidenColumns(from, place_, depth, count, to, step, squares);
  for (std::int64_t k = 0; k < depth; ++k) Widen(from + k * place_, count, to + k * step);
}

template void RowLines::Copy(std::int64_t, std::int64_t, std::int64_t, std::int64_t, double*, std::int64_t, double*) const;
template void RowLines::Copy(std::int64_t, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t, double*) const;
template void ColumnLines::Copy(std::int64_t, std::int64_t, std::int64_t, std::int64_t, double*, std::int64_t, double*) const;
template void ColumnLines::Copy(std::int64_t, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t, double*) const;

void RunContractions(std::span<const Contraction> tasks, const Output& output, Context& context) {
  if (context.single()) {
    RunAll<float>(tasks, output, context);
  } else {
    RunAll<double>(tasks, output, context);
  }
}

}  // namespace assay::rounded
