// The contraction engine of one instruction set: C = contract(K) of A and B (docs/NUMERICS.md), whatever A and B are read from.
//
// Matmul and the convolutions differ only in where an element of an operand lies. Each describes that as an Operand, which copies a
// panel (a few rows of A or columns of B by up to kBlock values of k) into the order the micro-kernel reads; the loops, the
// blocking and the threads are common to all (gemm.cc, gemm_loops-inl.h). The register tile starts at +0 for each block of K and its
// sum is stored or added to C, which is the contract's order itself. K is never padded; rows and columns may be.
//
// Gemm may be called from the thread that owns the context, or with `worker` from inside a ParallelFor; operands are read only.
#if defined(ASSAY_BACKEND_CPU_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_GEMM_INL_H_
#undef ASSAY_BACKEND_CPU_GEMM_INL_H_
#else
#define ASSAY_BACKEND_CPU_GEMM_INL_H_
#endif

#include <array>
#include <cstdint>

#include "assay/backend/cpu/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;

// The contract's block of K, which is the cache block too.
inline constexpr std::int64_t kBlock = 256;

// The register tile: kTileRows rows by kTileColumns columns. 16 vector registers hold 6 x 2 sums, 32 hold 12 x 2.
inline constexpr std::int64_t kTileVectors = 2;
inline constexpr std::int64_t kTileColumns = kTileVectors * static_cast<std::int64_t>(hn::MaxLanes(F32()));
#if HWY_TARGET == HWY_AVX2
inline constexpr std::int64_t kTileRows = 6;
#else
inline constexpr std::int64_t kTileRows = 12;
#endif

// A stretch of K in which each of kTileRows rows of A lies contiguous in memory.
struct RowRun {
  std::array<const float*, static_cast<std::size_t>(kTileRows)> rows;
  std::int64_t depth;
};
inline constexpr std::size_t kMaxRowRuns = 32;

// One operand: rows of A or columns of B ("lines"), each with K elements.
class Operand {
 public:
  virtual ~Operand() = default;

  // to[(k - k0) * width + i] = element k of line first + i, for i < count <= width and k0 <= k < k0 + depth; width is kTileRows for A
  // and kTileColumns for B. Lanes beyond `count` may receive anything. May write up to kPanelSlack floats beyond the panel.
  virtual void PackRows(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const = 0;
  virtual void PackColumns(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const = 0;

  // Whether the micro-kernel can read rows of A where they lie. If so RowRuns describes kTileRows of them over [k0, k0 + depth) and
  // returns the number of runs.
  virtual bool rows_in_place() const { return false; }
  virtual std::size_t RowRuns(std::int64_t first, std::int64_t k0, std::int64_t depth, RowRun* runs) const;

  // If the lines are adjacent in memory for every k, at one distance from k to the next: that distance (else 0), and the address of
  // element k0 of line first.
  virtual std::int64_t adjacent_stride() const { return 0; }
  virtual const float* Adjacent(std::int64_t first, std::int64_t k0) const;

  // Whether kTileColumns columns of B, starting at a multiple of that, are adjacent for every k. If so ColumnPointers gives for each k
  // the address of the first.
  virtual bool columns_in_place() const { return false; }
  virtual void ColumnPointers(std::int64_t first, std::int64_t k0, std::int64_t depth, const float** pointers) const;
};

inline constexpr std::int64_t kPanelSlack = 16;

// Lines this many floats apart (4 KiB) would compete for the same few places of the first-level cache.
inline constexpr std::int64_t kAliasFloats = 1024;

struct Contraction {
  std::int64_t m = 0, n = 0, k = 0;
  const Operand* a = nullptr;
  const Operand* b = nullptr;
  float* c = nullptr;
  std::int64_t c_stride = 0;             // between rows of C
  const std::int64_t* c_rows = nullptr;  // if set, row i of C starts at c + c_rows[i] instead
};

void Gemm(const Contraction& task, Context& context, int worker = Context::kShared);

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
