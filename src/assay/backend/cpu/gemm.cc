// The loops around the micro-kernel: blocking for the caches and sharing out among threads.
//
// One operand is shared: a chunk of it is packed once, by all threads, and stays in the last-level cache. The lines of the other are
// cut into strips; a strip is one thread's task, packed block by block of K into that thread's second-level cache and multiplied with
// the shared chunk. The shorter side is shared, so that each operand is packed once or nearly so.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/gemm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <functional>

#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/gemm_kernel-inl.h"
#include "assay/base/check.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kSharedFloats = std::int64_t{1} << 20;  // of a packed chunk of the shared operand at most: 4 MiB
constexpr std::int64_t kDeepFloats = std::int64_t{1} << 19;    // of one that spans several blocks of K: 2 MiB
constexpr std::int64_t kStripLines = 144;                      // of a strip: 144 KiB packed

// With at most this many columns, packing rows costs more than reading them in place.
constexpr std::int64_t kInPlaceColumns = 256;

constexpr std::int64_t kLineFloats = 16;                                                      // of a cache line
constexpr std::int64_t kColumnLines = std::max<std::int64_t>(1, kTileColumns / kLineFloats);  // of one row of a panel of B

std::int64_t DivideUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Side {
  const Operand* operand;
  std::int64_t lines;
  std::int64_t width;  // of a panel
  bool rows;

  std::int64_t panels() const { return DivideUp(lines, width); }
  std::int64_t panel_floats() const { return kBlock * width + kPanelSlack; }
  std::int64_t count(std::int64_t panel) const { return std::min(width, lines - panel * width); }
  void Pack(std::int64_t panel, std::int64_t k0, std::int64_t depth, float* to) const {
    if (rows) {
      operand->PackRows(panel * width, count(panel), k0, depth, to);
    } else {
      operand->PackColumns(panel * width, count(panel), k0, depth, to);
    }
  }
};

// A range of panels of the shared side by a range of K, packed: panel p of block b is at b * block_floats + p * panel_floats.
struct Chunk {
  std::int64_t first_panel, panels;
  std::int64_t k0, depth;
  float* packed;
  std::int64_t block_floats;

  std::int64_t blocks() const { return DivideUp(depth, kBlock); }
};

// Part of one block of K.
struct KRange {
  std::int64_t begin, depth;
};

class Loops {
 public:
  Loops(const Contraction& task, Context& context, int worker)
      : task_(task), context_(context), worker_(worker), threads_(worker == Context::kShared ? context.pool().threads() : 1) {
    const Side rows{task.a, task.m, kTileRows, true};
    const Side columns{task.b, task.n, kTileColumns, false};
    const bool share_rows = SharesRows(task);
    shared_ = share_rows ? rows : columns;
    strips_ = share_rows ? columns : rows;
    strips_in_place_ = share_rows ? task.b->columns_in_place() : task.n <= kInPlaceColumns && task.a->rows_in_place();
    shared_in_place_ =
        share_rows && task.n <= kInPlaceColumns && task.a->adjacent_stride() != 0 && task.a->adjacent_stride() % 1024 != 0;
    blocks_in_chunk_ = DivideUp(task.k, kBlock);
    panels_in_chunk_ = shared_.panels();
    if (!shared_in_place_) {
      const std::int64_t deep = kDeepFloats / (shared_.panels() * shared_.panel_floats());
      blocks_in_chunk_ = std::min(std::clamp<std::int64_t>(deep, 1, 8), blocks_in_chunk_);
      panels_in_chunk_ = std::min(shared_.panels(), kSharedFloats / (blocks_in_chunk_ * shared_.panel_floats()));
    }
    // A strip has whole panels; at least four strips per thread where there are that many, so that no thread waits long for the
    // last. Where there are few, each goes to several threads with a part of the shared chunk.
    const std::int64_t wanted = DivideUp(strips_.panels(), threads_ == 1 ? 1 : 4 * threads_);
    panels_in_strip_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, kStripLines / strips_.width));
    strip_count_ = DivideUp(strips_.panels(), panels_in_strip_);
    parts_ = threads_ == 1 ? 1 : std::clamp<std::int64_t>(2 * threads_ / strip_count_, 1, panels_in_chunk_);
  }

  void Run() const {
    float* packed = Scratch(worker_, chunk_floats() + (worker_ == Context::kShared ? 0 : strip_floats()));
    const std::int64_t chunk_depth = blocks_in_chunk_ * kBlock;
    for (std::int64_t k0 = 0; k0 < task_.k; k0 += chunk_depth) {
      for (std::int64_t panel = 0; panel < shared_.panels(); panel += panels_in_chunk_) {
        const std::int64_t panels = std::min(panels_in_chunk_, shared_.panels() - panel);
        const Chunk chunk{panel, panels, k0, std::min(chunk_depth, task_.k - k0), packed, panels * shared_.panel_floats()};
        if (!shared_in_place_) PackChunk(chunk);
        ParallelFor(strip_count_ * parts_, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
          float* strip = worker_ == Context::kShared ? Scratch(worker, strip_floats()) : packed + chunk_floats();
          for (std::int64_t i = begin; i < end; ++i) RunStrip(Part(chunk, i % parts_), i / parts_ * panels_in_strip_, strip);
        });
      }
    }
  }

 private:
  // Which side to share. A strip that needs no packing of its own is best; else the longer side is cut into strips.
  static bool SharesRows(const Contraction& task) {
    if (task.m > task.n && task.n <= kInPlaceColumns && task.a->rows_in_place()) return false;
    if (task.n <= kInPlaceColumns && task.b->columns_in_place() && task.m <= 4 * kInPlaceColumns) return true;
    return task.m <= task.n;
  }

  std::int64_t chunk_floats() const {
    return shared_in_place_ ? 0 : blocks_in_chunk_ * panels_in_chunk_ * shared_.panel_floats();
  }
  std::int64_t strip_floats() const { return panels_in_strip_ * strips_.panel_floats(); }
  float* Scratch(int slot, std::int64_t floats) const {
    return static_cast<float*>(context_.Scratch(slot, static_cast<std::size_t>(floats) * sizeof(float)));
  }

  void ParallelFor(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t, int)>& body) const {
    if (worker_ == Context::kShared) {
      context_.pool().ParallelFor(n, grain, body);
    } else {
      body(0, n, worker_);
    }
  }

  void PackChunk(const Chunk& chunk) const {
    const std::int64_t tasks = chunk.blocks() * chunk.panels;
    ParallelFor(tasks, std::clamp<std::int64_t>(tasks / (4 * threads_), 1, 16),
                [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
                  for (std::int64_t i = begin; i < end; ++i) {
                    const std::int64_t k = i / chunk.panels * kBlock;
                    shared_.Pack(chunk.first_panel + i % chunk.panels, chunk.k0 + k, std::min(kBlock, chunk.depth - k),
                                 chunk.packed + i * shared_.panel_floats());
                  }
                });
  }

  // One of parts_ nearly equal ranges of the chunk's panels.
  Chunk Part(const Chunk& chunk, std::int64_t part) const {
    const std::int64_t begin = chunk.panels * part / parts_, end = chunk.panels * (part + 1) / parts_;
    Chunk result = chunk;
    result.first_panel += begin;
    result.panels = end - begin;
    if (!shared_in_place_) result.packed += begin * shared_.panel_floats();
    return result;
  }

  void RunStrip(const Chunk& chunk, std::int64_t first_panel, float* strip) const {
    const std::int64_t panels = std::min(panels_in_strip_, strips_.panels() - first_panel);
    for (std::int64_t block = 0; block < chunk.blocks(); ++block) {
      const std::int64_t k = chunk.k0 + block * kBlock;
      const float* shared = chunk.packed + (shared_in_place_ ? 0 : block * chunk.block_floats);
      const KRange range{k, std::min(kBlock, task_.k - k)};
      if (!shared_.rows && strips_in_place_) {
        for (std::int64_t p = 0; p < panels; ++p) RunRows(chunk, first_panel + p, shared, range, strip);
      } else {
        RunPacked(chunk, first_panel, panels, shared, range, strip);
      }
    }
  }

  // One panel of rows, read in place if it is whole, against all columns of the chunk. The last tile fetches the next panel.
  void RunRows(const Chunk& chunk, std::int64_t panel, const float* shared, KRange range, float* strip) const {
    if (strips_.count(panel) < kTileRows) {
      strips_.Pack(panel, range.begin, range.depth, strip);
      for (std::int64_t s = 0; s < chunk.panels; ++s) {
        RunTile({strip, kTileRows}, shared + s * shared_.panel_floats(), range, Output(panel, chunk.first_panel + s, range));
      }
      return;
    }
    RowRun runs[kMaxRowRuns];
    FetchList fetch;
    FetchRows(panel + 1, range, runs, fetch);
    const std::size_t run_count = task_.a->RowRuns(panel * kTileRows, range.begin, range.depth, runs);
    for (std::int64_t s = 0; s < chunk.panels; ++s) {
      const float* b = shared + s * shared_.panel_floats();
      const TileOutput out = Output(panel, chunk.first_panel + s, range);
      const bool last = s + 1 == chunk.panels;
      const auto tile = out.vectors == 2 ? (last ? &TileFromRows<2, true> : &TileFromRows<2, false>)
                                         : (last ? &TileFromRows<1, true> : &TileFromRows<1, false>);
      tile(runs, run_count, b, out, fetch);
    }
  }

  // The cache lines of a panel of rows. `runs` is scratch.
  void FetchRows(std::int64_t panel, KRange range, RowRun* runs, FetchList& fetch) const {
    std::size_t lines = 0;
    const std::size_t depth = static_cast<std::size_t>(range.depth);
    if (panel < strips_.panels() && strips_.count(panel) == kTileRows) {
      const std::size_t run_count = task_.a->RowRuns(panel * kTileRows, range.begin, range.depth, runs);
      for (std::size_t run = 0; run < run_count; ++run) {
        for (const float* row : runs[run].rows) {
          for (std::int64_t k = 0; k < runs[run].depth && lines < depth; k += kLineFloats) fetch.at[lines++] = row + k;
        }
      }
    }
    std::fill(fetch.at + lines, fetch.at + depth, task_.c);
  }

  // Panels of the strip, packed on the way if they are columns that can be read in place, against the chunk.
  void RunPacked(const Chunk& chunk, std::int64_t first_panel, std::int64_t panels, const float* shared, KRange range,
                 float* strip) const {
    const auto packs_late = [&](std::int64_t panel) {
      return shared_.rows && strips_in_place_ && strips_.count(panel) == kTileColumns;
    };
    for (std::int64_t p = 0; p < panels; ++p) {
      if (!packs_late(first_panel + p))
        strips_.Pack(first_panel + p, range.begin, range.depth, strip + p * strips_.panel_floats());
    }
    for (std::int64_t s = 0; s < chunk.panels; ++s) {
      const float* shared_panel = shared + (shared_in_place_ ? 0 : s * shared_.panel_floats());
      for (std::int64_t p = 0; p < panels; ++p) {
        float* strip_panel = strip + p * strips_.panel_floats();
        if (!shared_.rows) {
          RunTile({strip_panel, kTileRows}, shared_panel, range, Output(first_panel + p, chunk.first_panel + s, range));
          continue;
        }
        const TileOutput out = Output(chunk.first_panel + s, first_panel + p, range);
        const AdjacentRows a = SharedRows(chunk.first_panel + s, shared_panel, range);
        FetchList fetch;
        if (s == 0 && packs_late(first_panel + p)) {
          RunTilePackingB(a, first_panel + p, strip_panel, range, out);
        } else if (strips_in_place_ && out.row_count == kTileRows && out.vectors == 2 &&
                   FetchNextBlock((s - 1) * panels + p, first_panel, panels, range, fetch)) {
          Tile<static_cast<int>(kTileRows), 2, true>(a, strip_panel, range.depth, out, &fetch);
        } else {
          RunTile(a, strip_panel, range, out);
        }
      }
    }
  }

  AdjacentRows SharedRows(std::int64_t panel, const float* packed, KRange range) const {
    if (!shared_in_place_) return {packed, kTileRows};
    return {task_.a->Adjacent(panel * kTileRows, range.begin), task_.a->adjacent_stride()};
  }

  // What tile number `job` of a strip should fetch of the block of K that follows `range`: a column of cache lines of the strip's
  // part of B or, if that is read in place, of A. False if there is nothing left to fetch.
  bool FetchNextBlock(std::int64_t job, std::int64_t first_panel, std::int64_t panels, KRange range, FetchList& fetch) const {
    const std::int64_t k = range.begin + kBlock;
    if (job < 0 || task_.k - k < kBlock) return false;
    const std::int64_t lines = panels * kColumnLines;
    if (job < lines) {
      const std::int64_t panel = first_panel + job / kColumnLines;
      if (strips_.count(panel) < kTileColumns) return false;
      task_.b->ColumnPointers(panel * kTileColumns, k, kBlock, fetch.at);
      for (const float*& at : fetch.at) at += job % kColumnLines * kLineFloats;
      return true;
    }
    const std::int64_t first = (job - lines) * kLineFloats;
    if (!shared_in_place_ || first >= task_.m) return false;
    const float* from = task_.a->Adjacent(first, k);
    for (const float*& at : fetch.at) {
      at = from;
      from += task_.a->adjacent_stride();
    }
    return true;
  }

  TileOutput Output(std::int64_t row_panel, std::int64_t column_panel, KRange range) const {
    const std::int64_t row = row_panel * kTileRows;
    const std::int64_t column = column_panel * kTileColumns;
    TileOutput out;
    out.row_count = std::min(kTileRows, task_.m - row);
    for (std::int64_t i = 0; i < out.row_count; ++i) {
      out.rows[i] = task_.c + (task_.c_rows != nullptr ? task_.c_rows[row + i] : (row + i) * task_.c_stride) + column;
    }
    out.columns = std::min(kTileColumns, task_.n - column);
    out.vectors = out.columns > kTileColumns / 2 ? 2 : 1;
    out.first = range.begin == 0;
    out.last = range.begin + range.depth == task_.k;
    return out;
  }

  static void RunTile(AdjacentRows a, const float* b, KRange range, const TileOutput& out) {
    kTiles[static_cast<std::size_t>(out.row_count - 1)][static_cast<std::size_t>(out.vectors - 1)](a, b, range.depth, out,
                                                                                                   nullptr);
  }

  void RunTilePackingB(AdjacentRows a, std::int64_t panel, float* packed, KRange range, const TileOutput& out) const {
    FetchList pointers;
    task_.b->ColumnPointers(panel * kTileColumns, range.begin, range.depth, pointers.at);
    kTilesPackingB[static_cast<std::size_t>(out.row_count - 1)](a, pointers.at, range.depth, packed, out);
  }

  const Contraction& task_;
  Context& context_;
  int worker_;
  int threads_;
  Side shared_{};
  Side strips_{};
  bool strips_in_place_ = false;
  bool shared_in_place_ = false;
  std::int64_t blocks_in_chunk_ = 1;
  std::int64_t panels_in_chunk_ = 1;
  std::int64_t panels_in_strip_ = 1;
  std::int64_t strip_count_ = 1;
  std::int64_t parts_ = 1;
};

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
  if (task.k == 0) {
    for (std::int64_t i = 0; i < task.m; ++i) {
      float* row = task.c + (task.c_rows != nullptr ? task.c_rows[i] : i * task.c_stride);
      std::fill(row, row + task.n, 0.0f);
    }
    return;
  }
  Loops(task, context, worker).Run();
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
