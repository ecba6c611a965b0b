// The loops around the micro-kernel that one thread runs for one rectangle of C.
//
// One operand is kept: a chunk of it is packed and stays in cache. The lines of the other are cut into strips, packed block by
// block of K and multiplied with the kept chunk. Where packing would cost more than it saves, the micro-kernel reads an operand where
// it lies, or packs columns while it uses them for the first time; idle load slots then fetch what the next block will need.
#if defined(ASSAY_BACKEND_CPU_GEMM_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_GEMM_LOOPS_INL_H_
#undef ASSAY_BACKEND_CPU_GEMM_LOOPS_INL_H_
#else
#define ASSAY_BACKEND_CPU_GEMM_LOOPS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/gemm_kernel-inl.h"
#include "assay/backend/cpu/pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

inline constexpr std::int64_t kKeptFloats = std::int64_t{1} << 20;  // of a kept chunk at most: 4 MiB
inline constexpr std::int64_t kDeepFloats = std::int64_t{1} << 19;  // of one that spans several blocks of K: 2 MiB
inline constexpr std::int64_t kDeepBlocks = 8;                      // which are at most so many
inline constexpr std::int64_t kStripLines = 144;                    // of a strip: 144 KiB packed

// With at most this many columns, packing rows costs more than reading them in place.
inline constexpr std::int64_t kInPlaceColumns = 256;

inline constexpr std::int64_t kLineFloats = 16;                                                      // of a cache line
inline constexpr std::int64_t kColumnLines = std::max<std::int64_t>(1, kTileColumns / kLineFloats);  // of a row of a panel of B

constexpr std::int64_t DivideUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// A rectangle of C. `column` is a multiple of kTileColumns.
struct Rectangle {
  std::int64_t row, rows;
  std::int64_t column, columns;
};

// Lines [first, first + lines) of an operand, in panels.
struct Side {
  const Operand* operand;
  std::int64_t first, lines;
  std::int64_t width;  // of a panel
  bool rows;

  std::int64_t panels() const { return DivideUp(lines, width); }
  std::int64_t panel_floats() const { return kBlock * width + kPanelSlack; }
  std::int64_t Line(std::int64_t panel) const { return first + panel * width; }
  std::int64_t count(std::int64_t panel) const { return std::min(width, lines - panel * width); }
  void Pack(std::int64_t panel, std::int64_t k0, std::int64_t depth, float* to) const {
    if (rows) {
      operand->PackRows(Line(panel), count(panel), k0, depth, to);
    } else {
      operand->PackColumns(Line(panel), count(panel), k0, depth, to);
    }
  }
  // Several panels, panel_floats apart. Narrow panels of adjacent lines are packed side by side, so that memory is read in order.
  void Pack(std::int64_t panel, std::int64_t panels_to_pack, std::int64_t k0, std::int64_t depth, float* to) const {
    const std::int64_t end = panel + panels_to_pack;
    if (rows && operand->adjacent_stride() != 0) {
      const std::int64_t whole = std::min(panels_to_pack, (lines - panel * width) / width);
      PackAdjacentPanels<kTileRows>(operand->Adjacent(Line(panel), k0), operand->adjacent_stride(), whole, depth, to,
                                    panel_floats());
      panel += whole;
      to += whole * panel_floats();
    }
    for (; panel < end; ++panel, to += panel_floats()) Pack(panel, k0, depth, to);
  }
};

// A range of panels of the kept side by a range of K, packed: panel p of block b is at (b * panels + p) * panel_floats.
struct Chunk {
  std::int64_t first_panel, panels;
  std::int64_t k0, depth;
  float* packed;

  std::int64_t blocks() const { return DivideUp(depth, kBlock); }
};

// One block of K; the last may be shorter.
struct KRange {
  std::int64_t begin, depth;
};

class Loops {
 public:
  Loops(const Contraction& task, const Rectangle& part) : task_(task) {
    const Side rows{task.a, part.row, part.rows, kTileRows, true};
    const Side columns{task.b, part.column, part.columns, kTileColumns, false};
    const bool keep_rows = KeepsRows(task, part);
    const std::int64_t a_stride = task.a->adjacent_stride();
    const bool few_columns = task.n <= kInPlaceColumns;
    kept_ = keep_rows ? rows : columns;
    strips_ = keep_rows ? columns : rows;
    strips_in_place_ = keep_rows ? task.b->columns_in_place() : few_columns && task.a->rows_in_place();
    kept_in_place_ = keep_rows && few_columns && a_stride != 0 && a_stride % kAliasFloats != 0;
    blocks_in_chunk_ = DivideUp(task.k, kBlock);
    panels_in_chunk_ = kept_.panels();
    if (!kept_in_place_) {
      const std::int64_t deep = kDeepFloats / (kept_.panels() * kept_.panel_floats());
      blocks_in_chunk_ = std::min(std::clamp<std::int64_t>(deep, 1, kDeepBlocks), blocks_in_chunk_);
      panels_in_chunk_ = std::min(kept_.panels(), kKeptFloats / (blocks_in_chunk_ * kept_.panel_floats()));
    }
    panels_in_strip_ = std::min(strips_.panels(), std::max<std::int64_t>(1, kStripLines / strips_.width));
  }

  std::int64_t scratch_floats() const { return chunk_floats() + panels_in_strip_ * strips_.panel_floats(); }

  // `scratch` is private to the caller and 64-byte aligned.
  void Run(float* scratch) const {
    float* strip = scratch + chunk_floats();
    const std::int64_t chunk_depth = blocks_in_chunk_ * kBlock;
    for (std::int64_t k0 = 0; k0 < task_.k; k0 += chunk_depth) {
      for (std::int64_t panel = 0; panel < kept_.panels(); panel += panels_in_chunk_) {
        const Chunk chunk{panel, std::min(panels_in_chunk_, kept_.panels() - panel), k0, std::min(chunk_depth, task_.k - k0),
                          scratch};
        if (!kept_in_place_) PackChunk(chunk);
        for (std::int64_t p = 0; p < strips_.panels(); p += panels_in_strip_) RunStrip(chunk, p, strip);
      }
    }
  }

 private:
  // Which side to keep. A strip that needs no packing of its own is best; else the longer side is cut into strips.
  static bool KeepsRows(const Contraction& task, const Rectangle& part) {
    if (task.n <= kInPlaceColumns) {
      if (part.rows > part.columns && task.a->rows_in_place()) return false;
      if (part.rows <= 4 * kInPlaceColumns && task.b->columns_in_place()) return true;
    }
    return part.rows <= part.columns;
  }

  std::int64_t chunk_floats() const { return kept_in_place_ ? 0 : blocks_in_chunk_ * panels_in_chunk_ * kept_.panel_floats(); }

  void PackChunk(const Chunk& chunk) const {
    for (std::int64_t block = 0; block < chunk.blocks(); ++block) {
      const std::int64_t k = block * kBlock;
      kept_.Pack(chunk.first_panel, chunk.panels, chunk.k0 + k, std::min(kBlock, chunk.depth - k),
                 chunk.packed + block * chunk.panels * kept_.panel_floats());
    }
  }

  void RunStrip(const Chunk& chunk, std::int64_t first_panel, float* strip) const {
    const std::int64_t panels = std::min(panels_in_strip_, strips_.panels() - first_panel);
    for (std::int64_t block = 0; block < chunk.blocks(); ++block) {
      const std::int64_t k = chunk.k0 + block * kBlock;
      const float* kept = chunk.packed + (kept_in_place_ ? 0 : block * chunk.panels * kept_.panel_floats());
      const KRange range{k, std::min(kBlock, task_.k - k)};
      if (!kept_.rows && strips_in_place_) {
        for (std::int64_t p = 0; p < panels; ++p) RunRows(chunk, first_panel + p, kept, range, strip);
      } else {
        RunPacked(chunk, first_panel, panels, kept, range, strip);
      }
    }
  }

  // One panel of rows, read in place if it is whole, against all columns of the chunk. The last tile fetches the next panel.
  void RunRows(const Chunk& chunk, std::int64_t panel, const float* kept, KRange range, float* strip) const {
    if (strips_.count(panel) < kTileRows) {
      strips_.Pack(panel, range.begin, range.depth, strip);
      for (std::int64_t s = 0; s < chunk.panels; ++s) {
        RunTile({strip, kTileRows}, kept + s * kept_.panel_floats(), range, Output(panel, chunk.first_panel + s, range));
      }
      return;
    }
    RowRun runs[kMaxRowRuns];
    FetchList fetch;
    FetchRows(panel + 1, range, runs, fetch);
    const std::size_t run_count = task_.a->RowRuns(strips_.Line(panel), range.begin, range.depth, runs);
    for (std::int64_t s = 0; s < chunk.panels; ++s) {
      const float* b = kept + s * kept_.panel_floats();
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
      const std::size_t run_count = task_.a->RowRuns(strips_.Line(panel), range.begin, range.depth, runs);
      for (std::size_t run = 0; run < run_count; ++run) {
        for (const float* row : runs[run].rows) {
          for (std::int64_t k = 0; k < runs[run].depth && lines < depth; k += kLineFloats) fetch.at[lines++] = row + k;
        }
      }
    }
    std::fill(fetch.at + lines, fetch.at + depth, task_.c);
  }

  // Panels of the strip, packed on the way if they are columns that can be read in place, against the chunk.
  void RunPacked(const Chunk& chunk, std::int64_t first_panel, std::int64_t panels, const float* kept, KRange range,
                 float* strip) const {
    const auto packs_late = [&](std::int64_t panel) {
      return kept_.rows && strips_in_place_ && strips_.count(panel) == kTileColumns;
    };
    // Only the last panel can be too narrow to be packed late.
    const std::int64_t late = packs_late(first_panel) ? (packs_late(first_panel + panels - 1) ? panels : panels - 1) : 0;
    strips_.Pack(first_panel + late, panels - late, range.begin, range.depth, strip + late * strips_.panel_floats());
    for (std::int64_t s = 0; s < chunk.panels; ++s) {
      const float* kept_panel = kept + (kept_in_place_ ? 0 : s * kept_.panel_floats());
      for (std::int64_t p = 0; p < panels; ++p) {
        float* strip_panel = strip + p * strips_.panel_floats();
        if (!kept_.rows) {
          RunTile({strip_panel, kTileRows}, kept_panel, range, Output(first_panel + p, chunk.first_panel + s, range));
          continue;
        }
        const TileOutput out = Output(chunk.first_panel + s, first_panel + p, range);
        const AdjacentRows a = KeptRows(chunk.first_panel + s, kept_panel, range);
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

  AdjacentRows KeptRows(std::int64_t panel, const float* packed, KRange range) const {
    if (!kept_in_place_) return {packed, kTileRows};
    return {task_.a->Adjacent(kept_.Line(panel), range.begin), task_.a->adjacent_stride()};
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
      task_.b->ColumnPointers(strips_.Line(panel), k, kBlock, fetch.at);
      for (const float*& at : fetch.at) at += job % kColumnLines * kLineFloats;
      return true;
    }
    const std::int64_t first = (job - lines) * kLineFloats;
    if (!kept_in_place_ || first >= kept_.lines) return false;
    const float* from = task_.a->Adjacent(kept_.first + first, k);
    for (const float*& at : fetch.at) {
      at = from;
      from += task_.a->adjacent_stride();
    }
    return true;
  }

  TileOutput Output(std::int64_t row_panel, std::int64_t column_panel, KRange range) const {
    const Side& rows = kept_.rows ? kept_ : strips_;
    const Side& columns = kept_.rows ? strips_ : kept_;
    const std::int64_t row = rows.Line(row_panel), column = columns.Line(column_panel);
    TileOutput out;
    out.row_count = rows.count(row_panel);
    for (std::int64_t i = 0; i < out.row_count; ++i) {
      out.rows[i] = task_.c + (task_.c_rows != nullptr ? task_.c_rows[row + i] : (row + i) * task_.c_stride) + column;
    }
    out.columns = columns.count(column_panel);
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
    task_.b->ColumnPointers(strips_.Line(panel), range.begin, range.depth, pointers.at);
    kTilesPackingB[static_cast<std::size_t>(out.row_count - 1)](a, pointers.at, range.depth, packed, out);
  }

  const Contraction& task_;
  Side kept_{};
  Side strips_{};
  bool kept_in_place_ = false;
  bool strips_in_place_ = false;
  std::int64_t blocks_in_chunk_ = 1;
  std::int64_t panels_in_chunk_ = 1;
  std::int64_t panels_in_strip_ = 1;
};

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
