// Products of lines with panels that are packed already, shared out among threads.
//
// A piece of work is one panel against a stretch of rows, over a few blocks: the block of the panel stays in the first-level cache while the
// lines' block streams by. Totals wait in the result between blocks.
#if defined(ASSAY_BACKEND_CPU_DIGIT_MULTIPLY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_MULTIPLY_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_MULTIPLY_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_MULTIPLY_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "assay/backend/cpu/digit_amx-inl.h"
#include "assay/backend/cpu/digit_format-inl.h"
#include "assay/backend/cpu/digit_gemm.h"
#include "assay/backend/cpu/digit_neon-inl.h"
#include "assay/backend/cpu/digit_units.h"
#include "assay/backend/cpu/digit_vnni-inl.h"
#include "assay/backend/cpu/digit_wide-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/base/check.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::digit {

// Calls f with the unit's kernel for this number of digits, as a value of its type.
template <int kDigitCount, class Function>
HWY_INLINE void WithKernel(DigitUnit unit, const Function& f) {
  switch (unit) {
#if HWY_TARGET == HWY_AVX3
    case DigitUnit::kAmx: return f(AmxProcessor<kDigitCount>());
    case DigitUnit::kAmxModel: return f(AmxModel<kDigitCount>());
    case DigitUnit::kVnni: return f(Vnni<kDigitCount>());
#endif
#if HWY_TARGET == HWY_NEON
    case DigitUnit::kNeonDot: return f(NeonDot<kDigitCount>());
    case DigitUnit::kNeon: return f(NeonPairs<kDigitCount>());
#else
    case DigitUnit::kWide: return f(Wide<kDigitCount>());
#endif
    default: CheckFailed("digit unit of this instruction set", __FILE__, __LINE__);
  }
}

template <class Function>
HWY_INLINE void WithKernel(DigitUnit unit, int digits, const Function& f) {
  ASSAY_CHECK(digits == 2 || digits == 3);
  if (digits == 2) {
    WithKernel<2>(unit, f);
  } else {
    WithKernel<3>(unit, f);
  }
}

// The threads of the context, or one worker of a ParallelFor that is under way.
class Threads {
 public:
  Threads(Context& context, int worker) : context_(context), worker_(worker) {}

  bool leave_out_products() const { return context_.leaves_out_products; }
  std::int64_t count() const { return worker_ == Context::kShared ? context_.pool().threads() : 1; }

  // Calls body(begin, end, worker) for stretches of [0, n).
  template <class Body>
  void For(std::int64_t n, const Body& body) const {
    if (worker_ == Context::kShared) {
      context_.pool().ParallelFor(n, 1, body);
    } else if (n > 0) {
      body(0, n, worker_);
    }
  }

 private:
  Context& context_;
  int worker_;
};

inline constexpr std::int64_t kKeptBytes = std::int64_t{512} << 10;  // of lines that are multiplied with all panels
inline constexpr std::int64_t kKeptRows = 96;                        // at least

struct Result {
  float* c;
  std::int64_t m, n;
  std::int64_t stride;                 // between rows of c
  const std::int64_t* rows = nullptr;  // if set, row i starts at c + rows[i] instead
  float* Row(std::int64_t i) const { return c + (rows != nullptr ? rows[i] : i * stride); }
};

// The blocks that are multiplied, of all that the result is made of.
struct Blocks {
  std::int64_t begin, end;
  bool first, last;  // whether they begin with the first of all, and end with the last
};

// Rows [begin, end) against the tile's panel: line(row) is its line, out(row) where its totals are.
template <class Kernel, class Line, class Out>
HWY_INLINE void MultiplyRows(Tile& tile, std::int64_t begin, std::int64_t end, const Line& line, const Out& out) {
  for (std::int64_t row = begin; row < end; row += Kernel::kRows) {
    tile.row_count = std::min<std::int64_t>(Kernel::kRows, end - row);
    for (int r = 0; r < Kernel::kRows; ++r) {
      const std::int64_t i = row + std::min<std::int64_t>(r, tile.row_count - 1);
      tile.rows[r] = line(i);
      tile.out[r] = out(i);
    }
    Kernel::Run(tile);
  }
}

// Lines and panels are told by functions: depth(block) values of k, line(row, block), panel(index, block).
template <class Kernel, class Depth, class Line, class Panel>
HWY_INLINE void MultiplyPanel(const Result& result, const Blocks& blocks, std::int64_t panel_index, std::int64_t row_begin,
                              std::int64_t row_end, const Depth& depth, const Line& line, const Panel& panel) {
  const std::int64_t column = panel_index * kDigitColumns;
  Tile tile;
  tile.fused = false;
  tile.columns = std::min(kDigitColumns, result.n - column);
  for (std::int64_t block = blocks.begin; block < blocks.end; ++block) {
    tile.panel = panel(panel_index, block);
    tile.chunks = Kernel::Chunks(depth(block));
    tile.last_dwords = Kernel::LastDwords(depth(block));
    tile.first = blocks.first && block == blocks.begin;
    tile.last = blocks.last && block + 1 == blocks.end;
    MultiplyRows<Kernel>(
        tile, row_begin, row_end, [&](std::int64_t row) { return line(row, block); },
        [&](std::int64_t row) { return result.Row(row) + column; });
  }
}

template <class Kernel, class Depth, class Line, class Panel>
HWY_INLINE void Multiply(const Result& result, const Blocks& blocks, const Threads& threads, const Depth& depth,
                         const Line& line, const Panel& panel) {
  if (threads.leave_out_products()) return;
  const std::int64_t panels = DivideUp(result.n, kDigitColumns), tiles = DivideUp(result.m, Kernel::kRows);
  // Pieces enough that no thread waits long for the last, but not of a few rows alone; and lines that the second-level cache keeps for
  // the next panel.
  const std::int64_t wanted = threads.count() == 1 ? 1 : DivideUp(6 * threads.count(), panels);
  const std::int64_t shared = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, tiles / 4));
  std::int64_t bytes = 0;
  for (std::int64_t block = blocks.begin; block < blocks.end; ++block) bytes += Kernel::LineBytes(depth(block));
  const std::int64_t kept = std::max<std::int64_t>(kKeptRows, kKeptBytes / bytes);
  const std::int64_t stretches = std::max(shared, DivideUp(result.m, kept));
  threads.For(panels * stretches, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t stretch = i / panels;
      const std::int64_t row_begin = tiles * stretch / stretches * Kernel::kRows;
      const std::int64_t row_end = std::min(result.m, tiles * (stretch + 1) / stretches * Kernel::kRows);
      MultiplyPanel<Kernel>(result, blocks, i % panels, row_begin, row_end, depth, line, panel);
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_AFTER_NAMESPACE();

#endif
