// Sink: one result of an op on the device on its way through rounding to memory, as Output is on the host (backend/openblas/output.h, docs/ROUNDING.md).
//
// A kernel gets a Sink by value for each of its outputs and puts every element exactly once: Put(i, value) where it computes in double, Put(i, near) where it computes in Near.
// On the host, bounded() says which of the two is wanted: without it kernels compute in double. Decisions of a step that is recorded go to a list on the device; in a step
// that is followed the decision is looked up and applied where the element is put, because the next op needs it.
#pragma once

#include <cstdint>

#include "assay/rounding/follow.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::cublas {

using rounded::Near;

// What a step has come to so far, in device memory.
struct Tally {
  unsigned long long decisions = 0;  // taken, perhaps more than there is room for
  unsigned long long followed = 0, corrections = 0;
  unsigned long long refused = ~0ull;  // the least position of an inadmissible decision
};

class Sink {
 public:
  enum class Kind {
    kExact,   // rounded; has no bound and no position
    kPlain,   // rounded; bounds are not wanted
    kRecord,  // decisions are listed
    kFollow,  // decisions are applied
  };

  // Host: whether kernels are to compute bounds.
  ASSAY_HD bool bounded() const { return kind == Kind::kRecord || kind == Kind::kFollow; }

#ifdef __CUDACC__
  __device__ float Rounded(double y) const {
    if (grid.bits() != numerics::Grid::kMaxBits) return grid.Round(y);
    return y == y ? __double2float_rn(y) : __int_as_float(0x7fc00000);
  }

  // An element without a bound: of an exact op, or where bounds are not wanted.
  __device__ void Put(std::int64_t i, double y) const { out[i] = Rounded(kind == Kind::kExact ? y : y + 0.0); }
  __device__ void Put(std::int64_t i, const Near& y) const { Put(i, y.v, y.e); }

  // An element that is at most e from the truth. A zero that has a bound is positive.
  __device__ void Put(std::int64_t i, double y, double e) const {
    if (!bounded()) return Put(i, y);
    y += 0.0;
    if (kind == Kind::kFollow) {
      out[i] = Flagged(i) ? Followed(i, y, e) : Rounded(y);
    } else {
      out[i] = Rounded(y);
      if (IsClose(y, e)) List(i, y, e);
    }
  }

  // Whether an element that is less than 2^exponent from the truth is certainly no decision, by integers alone: the bits of y that rounding drops are farther from one half than twice that. True only
  // for values that are normal on the grid.
  __device__ bool IsSettled(double y, int exponent) const {
    const std::uint32_t high = static_cast<std::uint32_t>(__double2hiint(y));
    const int own = static_cast<int>(high >> 20 & 0x7ff) - 1023;
    const int dropped = 61 - grid.bits();  // bits of binary64
    // Twice the bound and what it is widened by, in units of the last place of y.
    const int shift = exponent + 2 - (own - 52);
    if (own < -126 || own > 127 || shift >= dropped - 1) return false;
    if (dropped < 32) {
      const int off = (__double2loint(y) & ((1 << dropped) - 1)) - (1 << (dropped - 1));
      return abs(off) > 1 << max(shift, 0);
    }
    const std::int64_t low = __double_as_longlong(y) & ((std::int64_t{1} << dropped) - 1);
    const std::int64_t off = low - (std::int64_t{1} << (dropped - 1));
    return (off < 0 ? -off : off) > std::int64_t{1} << (shift > 0 ? shift : 0);
  }

  // Whether the true bound of an element is wanted, if all that is known is that it is at most `rough`. Where not, Put(i, y) will do.
  __device__ bool Wants(std::int64_t i, double y, double rough) const {
    if (kind == Kind::kRecord) return IsClose(y + 0.0, rough);
    return kind == Kind::kFollow && Flagged(i);
  }

  __device__ bool Flagged(std::int64_t i) const {
    const std::uint64_t position = first + static_cast<std::uint64_t>(i);
    return (flags[position >> 5] >> (position & 31) & 1) != 0;
  }

 private:
  __device__ bool IsClose(double y, double e) const {
    // e < 2^exponent
    if (IsSettled(y, static_cast<int>(static_cast<std::uint32_t>(__double2hiint(e)) >> 20 & 0x7ff) - 1022)) return false;
    const double d = rounding::Reach(e);
    if (!(d > 0) || !rounding::IsFinite(y)) return false;
    return __float_as_uint(Rounded(y - d)) != __float_as_uint(Rounded(y + d));
  }
  __device__ __noinline__ void List(std::int64_t i, double y, double e) const {
    rounding::Decision decision;
    if (!rounding::Decide(grid, y, rounding::Reach(e), first + static_cast<std::uint64_t>(i), decision)) return;
    const unsigned long long at = atomicAdd(&tally->decisions, 1ull);
    if (at < room) taken[at] = decision;
  }
  __device__ __noinline__ float Followed(std::int64_t i, double y, double e) const {
    const std::uint64_t position = first + static_cast<std::uint64_t>(i);
    std::int64_t begin = 0, end = decision_count;  // the last that is not behind the position
    while (end - begin > 1) {
      const std::int64_t middle = (begin + end) / 2;
      if (decisions[middle].position <= position) {
        begin = middle;
      } else {
        end = middle;
      }
    }
    const rounding::Followed followed = rounding::Follow(grid, decisions[begin], y, rounding::Reach(e));
    atomicAdd(&tally->followed, 1ull);
    if (!followed.admissible) {
      atomicMin(&tally->refused, position);
      return Rounded(y);
    }
    if (followed.corrected) atomicAdd(&tally->corrections, 1ull);
    return followed.value;
  }

 public:
#endif
  Kind kind = Kind::kExact;
  float* out = nullptr;
  numerics::Grid grid{numerics::Grid::kMaxBits};
  std::uint64_t first = 0;  // the position of element 0
  Tally* tally = nullptr;
  // kRecord
  rounding::Decision* taken = nullptr;
  unsigned long long room = 0;
  // kFollow: a bit for each position that is decided, and the decisions about this result.
  const std::uint32_t* flags = nullptr;
  const rounding::Decision* decisions = nullptr;
  std::int64_t decision_count = 0;
};

}  // namespace assay::cublas
