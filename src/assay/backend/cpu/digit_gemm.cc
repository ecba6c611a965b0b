// A contraction with digits of two matrices. Both operands are packed into digits first, each element once by one thread, in pieces that
// the second-level and third-level caches hold; then all threads multiply.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/digit_gemm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <new>

#include "assay/backend/cpu/digit_gemm-inl.h"
#include "assay/backend/cpu/digit_multiply-inl.h"
#include "assay/backend/cpu/digit_pack-inl.h"
#include "assay/base/check.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace digit {
namespace {

constexpr std::int64_t kPassBlocks = 4;                     // of k that are packed at a time
constexpr std::int64_t kPassBytes = std::int64_t{8} << 20;  // of one operand that are packed at a time, about

// Elements [k0, k0 + depth) of lines from `first` on.
const float* At(const DigitSide& side, std::int64_t first, std::int64_t k0) {
  return side.data + (side.adjacent ? k0 * side.stride + first : first * side.stride + k0);
}

template <class Kernel>
class Product {
 public:
  Product(const DigitContraction& task, Context& context, int worker)
      : task_(task), threads_(context, worker), context_(context) {
    // Pieces of about equal size, within the limits.
    pass_k_ = Share(task.k, kBlock * kPassBlocks, kBlock);
    const std::int64_t blocks = DivideUp(pass_k_, kBlock);
    pass_m_ = Share(task.m, kPassBytes / (blocks * Kernel::LineBytes(kBlock)), kRowStep);
    pass_n_ = Share(task.n, kPassBytes / (blocks * Kernel::PanelBytes(kBlock)) * kDigitColumns, kDigitColumns);
    const std::int64_t lines = blocks * pass_m_ * Kernel::LineBytes(kBlock);
    const std::int64_t panels = blocks * DivideUp(pass_n_, kDigitColumns) * Kernel::PanelBytes(kBlock);
    const std::int64_t own = worker == Context::kShared ? 0 : static_cast<std::int64_t>(sizeof(Space));
    auto* memory = static_cast<std::uint8_t*>(context.Scratch(worker, static_cast<std::size_t>(lines + panels + own)));
    lines_ = memory;
    panels_ = memory + lines;
    space_ = worker == Context::kShared ? nullptr : memory + lines + panels;
  }

  void Run() const {
    for (std::int64_t k0 = 0; k0 < task_.k; k0 += pass_k_) {
      const std::int64_t k_end = std::min(task_.k, k0 + pass_k_);
      for (std::int64_t m0 = 0; m0 < task_.m; m0 += pass_m_) {
        for (std::int64_t n0 = 0; n0 < task_.n; n0 += pass_n_) RunPass(k0, k_end, m0, n0);
      }
    }
  }

 private:
  using Space = PackSpace<Kernel>;
  static constexpr std::int64_t kRowStep = std::max<std::int64_t>(Kernel::kRows, kDwords);

  static std::int64_t Share(std::int64_t total, std::int64_t most, std::int64_t step) {
    const std::int64_t parts = DivideUp(total, std::max(step, most));
    return DivideUp(DivideUp(total, parts), step) * step;
  }

  void RunPass(std::int64_t k0, std::int64_t k_end, std::int64_t m0, std::int64_t n0) const {
    const std::int64_t rows = std::min(pass_m_, task_.m - m0), columns = std::min(pass_n_, task_.n - n0);
    const std::int64_t blocks = DivideUp(k_end - k0, kBlock);
    const std::int64_t groups = n0 == 0 ? DivideUp(rows, kDwords) : 0, panels = DivideUp(columns, kDigitColumns);
    const auto depth = [&](std::int64_t block) { return std::min(kBlock, k_end - k0 - block * kBlock); };
    const auto line = [&](std::int64_t row, std::int64_t block) {
      return lines_ + block * rows * Kernel::LineBytes(kBlock) + row * Kernel::LineBytes(depth(block));
    };
    const auto panel = [&](std::int64_t index, std::int64_t block) {
      return panels_ + block * panels * Kernel::PanelBytes(kBlock) + index * Kernel::PanelBytes(depth(block));
    };
    threads_.For((groups + panels) * blocks, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
      Space& space = *new (space_ != nullptr ? space_ : context_.Scratch(worker, sizeof(Space))) Space;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t unit = i / blocks, block = i % blocks, k = k0 + block * kBlock;
        if (unit < groups) {
          const std::int64_t first = unit * kDwords, count = std::min(kDwords, rows - first);
          PackLines(m0 + first, count, k, depth(block), space, line(first, block));
        } else {
          const std::int64_t first = (unit - groups) * kDigitColumns, count = std::min(kDigitColumns, columns - first);
          PackPanel(n0 + first, count, k, depth(block), space, panel(unit - groups, block));
        }
      }
    });
    const Result result{.c = task_.c + m0 * task_.c_stride + n0, .m = rows, .n = columns, .stride = task_.c_stride};
    Multiply<Kernel>(result, {0, blocks, k0 == 0, k_end == task_.k}, threads_, depth, line, panel);
  }

  void PackLines(std::int64_t first, std::int64_t count, std::int64_t k, std::int64_t depth, Space& space,
                 std::uint8_t* to) const {
    const float* from = At(task_.a, first, k);
    const std::int64_t bytes = Kernel::LineBytes(depth);
    if (task_.a.adjacent) {
      PackAdjacentFloats<Kernel>(from, task_.a.stride, count, depth, space, to, bytes);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) PackContiguousLine<Kernel>(from + i * task_.a.stride, depth, to + i * bytes);
  }

  void PackPanel(std::int64_t first, std::int64_t count, std::int64_t k, std::int64_t depth, Space& space,
                 std::uint8_t* to) const {
    const float* from = At(task_.b, first, k);
    if (task_.b.adjacent) {
      PackAdjacentPanel<Kernel>(from, task_.b.stride, count, depth, to);
    } else {
      PackContiguousPanel<Kernel>(from, task_.b.stride, count, depth, space, to);
    }
  }

  const DigitContraction& task_;
  Threads threads_;
  Context& context_;
  std::int64_t pass_k_, pass_m_, pass_n_;
  std::uint8_t* lines_;
  std::uint8_t* panels_;
  void* space_;  // a worker's own; null: in each thread's scratch
};

}  // namespace
}  // namespace digit

void GemmDigits(const DigitContraction& task, Context& context, int worker) {
  if (task.m == 0 || task.n == 0) return;
  if (task.k == 0) {
    for (std::int64_t i = 0; i < task.m; ++i) std::fill_n(task.c + i * task.c_stride, task.n, 0.0f);
    return;
  }
  digit::WithKernel(context.digit_unit(), task.digits,
                    [&](auto kernel) HWY_ATTR { digit::Product<decltype(kernel)>(task, context, worker).Run(); });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::cpu {

void DigitGemm(const DigitContraction& task, Simd simd, Context& context) {
  switch (simd) {
#if defined(__x86_64__)
    case Simd::kAvx2: return N_AVX2::GemmDigits(task, context, Context::kShared);
    case Simd::kAvx512: return N_AVX3::GemmDigits(task, context, Context::kShared);
#elif defined(__aarch64__)
    case Simd::kNeon: return N_NEON::GemmDigits(task, context, Context::kShared);
#endif
    default: CheckFailed("instruction set of this machine", __FILE__, __LINE__);
  }
}

}  // namespace assay::cpu
#endif
