// The loops around the micro-kernel: blocking for the caches and sharing out among threads.
//
// One operand is shared: a chunk of it is packed once, by all threads, and stays in the last-level cache. The lines of the other are cut into
// strips; a strip is one thread's task, packed block by block of K into that thread's second-level cache and multiplied with the whole
// shared chunk. The shorter side is shared, so that each operand is packed once or nearly so.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/gemm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <functional>

#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/gemm_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kSharedFloats = std::int64_t{1} << 20;  // a packed chunk of the shared operand: 4 MiB
constexpr std::int64_t kStripLines = 144;                      // of a strip: 144 KiB packed

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

// A range of panels of the shared side by a range of K, packed: panel p of block b is at (b * panels + p) * panel_floats.
struct Chunk {
  std::int64_t first_panel, panels;
  std::int64_t k0, depth;
  float* packed;

  std::int64_t blocks() const { return DivideUp(depth, kBlock); }
};

class Loops {
 public:
  Loops(const Contraction& task, Context& context, int worker)
      : task_(task), context_(context), worker_(worker), threads_(worker == Context::kShared ? context.pool().threads() : 1) {
    const Side rows{task.a, task.m, kTileRows, true};
    const Side columns{task.b, task.n, kTileColumns, false};
    shared_ = task.m <= task.n ? rows : columns;
    strips_ = task.m <= task.n ? columns : rows;
    blocks_in_chunk_ = std::clamp<std::int64_t>(kSharedFloats / (shared_.panels() * shared_.panel_floats()), 4, 16);
    blocks_in_chunk_ = std::min(blocks_in_chunk_, DivideUp(task.k, kBlock));
    panels_in_chunk_ = std::min(shared_.panels(), std::max<std::int64_t>(1, kSharedFloats / (blocks_in_chunk_ * shared_.panel_floats())));
    // A strip has whole panels; at least four strips per thread where there are that many, so that no thread waits long for the last.
    const std::int64_t wanted = DivideUp(strips_.panels(), threads_ == 1 ? 1 : 4 * threads_);
    panels_in_strip_ = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, kStripLines / strips_.width));
  }

  void Run() const {
    float* packed = Scratch(worker_, chunk_floats() + (worker_ == Context::kShared ? 0 : strip_floats()));
    const std::int64_t chunk_depth = blocks_in_chunk_ * kBlock;
    for (std::int64_t k0 = 0; k0 < task_.k; k0 += chunk_depth) {
      for (std::int64_t panel = 0; panel < shared_.panels(); panel += panels_in_chunk_) {
        const Chunk chunk{panel, std::min(panels_in_chunk_, shared_.panels() - panel), k0, std::min(chunk_depth, task_.k - k0), packed};
        PackChunk(chunk);
        ParallelFor(DivideUp(strips_.panels(), panels_in_strip_), 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
          float* strip = worker_ == Context::kShared ? Scratch(worker, strip_floats()) : packed + chunk_floats();
          for (std::int64_t i = begin; i < end; ++i) RunStrip(chunk, i * panels_in_strip_, strip);
        });
      }
    }
  }

 private:
  std::int64_t chunk_floats() const { return blocks_in_chunk_ * panels_in_chunk_ * shared_.panel_floats(); }
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
    ParallelFor(tasks, std::clamp<std::int64_t>(tasks / (4 * threads_), 1, 16), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t k = i / chunk.panels * kBlock;
        shared_.Pack(chunk.first_panel + i % chunk.panels, chunk.k0 + k, std::min(kBlock, chunk.depth - k),
                     chunk.packed + i * shared_.panel_floats());
      }
    });
  }

  void RunStrip(const Chunk& chunk, std::int64_t first_panel, float* strip) const {
    const std::int64_t panels = std::min(panels_in_strip_, strips_.panels() - first_panel);
    for (std::int64_t block = 0; block < chunk.blocks(); ++block) {
      const std::int64_t k = chunk.k0 + block * kBlock;
      const std::int64_t depth = std::min(kBlock, task_.k - k);
      for (std::int64_t p = 0; p < panels; ++p) strips_.Pack(first_panel + p, k, depth, strip + p * strips_.panel_floats());
      const float* shared = chunk.packed + block * chunk.panels * shared_.panel_floats();
      for (std::int64_t s = 0; s < chunk.panels; ++s) {
        for (std::int64_t p = 0; p < panels; ++p) {
          const float* shared_panel = shared + s * shared_.panel_floats();
          const float* strip_panel = strip + p * strips_.panel_floats();
          if (shared_.rows) {
            RunTile(chunk.first_panel + s, first_panel + p, shared_panel, strip_panel, k, depth);
          } else {
            RunTile(first_panel + p, chunk.first_panel + s, strip_panel, shared_panel, k, depth);
          }
        }
      }
    }
  }

  void RunTile(std::int64_t row_panel, std::int64_t column_panel, const float* a, const float* b, std::int64_t k, std::int64_t depth) const {
    const std::int64_t row = row_panel * kTileRows;
    const std::int64_t column = column_panel * kTileColumns;
    const std::int64_t rows = std::min(kTileRows, task_.m - row);
    TileOutput out;
    for (std::int64_t i = 0; i < rows; ++i) {
      out.rows[i] = task_.c + (task_.c_rows != nullptr ? task_.c_rows[row + i] : (row + i) * task_.c_stride) + column;
    }
    out.columns = std::min(kTileColumns, task_.n - column);
    out.first = k == 0;
    out.last = k + depth == task_.k;
    const std::size_t vectors = out.columns > kTileColumns / 2 ? 2 : 1;
    kTiles[static_cast<std::size_t>(rows - 1)][vectors - 1](a, b, depth, out);
  }

  const Contraction& task_;
  Context& context_;
  int worker_;
  int threads_;
  Side shared_{};
  Side strips_{};
  std::int64_t blocks_in_chunk_ = 1;
  std::int64_t panels_in_chunk_ = 1;
  std::int64_t panels_in_strip_ = 1;
};

}  // namespace

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
