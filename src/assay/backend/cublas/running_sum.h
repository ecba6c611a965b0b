// RunningSum: a sum of terms that come one after the other, in blocks of 128, blocks of 128 such sums, and so on, with its bound (docs/ROUNDING.md, sections 2 and 3). For devices: a
// sum of fewer than 128 terms stays in registers. Value type.
#pragma once

#include <cstdint>

#include "assay/semantics/rounded/column_sum.h"

namespace assay::cublas {

// T is double or Near.
template <class T>
class RunningSum {
 public:
  ASSAY_HD RunningSum() {}  // NOLINT: sums of blocks are written before they are read

  ASSAY_HD void Add(const T& term) {
    block_.Add(term);
    if (++count_ % kBlock == 0) Carry();
  }

  // A sum of one term is that term.
  ASSAY_HD T Total() const {
    rounded::Accumulator<T> sum = block_;
    int level = 0;
    for (std::int64_t blocks = count_ / kBlock; blocks > 0; blocks /= kBlock, ++level) {
      if (blocks % kBlock == 0) continue;
      rounded::Accumulator<T> above = above_[level];
      above += sum;
      sum = above;
    }
    return sum.Total(count_ == 1 ? 0.0 : numerics::SumDepth(count_));
  }

 private:
  static constexpr std::int64_t kBlock = rounded::kSumBlock;
  static constexpr int kLevels = 8;  // 128^9 = 2^63

  // The block is full: a term of the level above, which it may fill in turn.
  ASSAY_HD void Carry() {
    rounded::Accumulator<T> sum = block_;
    block_ = {};
    std::int64_t blocks = count_ / kBlock;
    for (int level = 0; level < kLevels; ++level, blocks /= kBlock) {
      if (blocks % kBlock == 1) {
        above_[level] = sum;
      } else {
        above_[level] += sum;
      }
      if (blocks % kBlock != 0) return;
      sum = above_[level];
    }
  }

  rounded::Accumulator<T> block_;
  std::int64_t count_ = 0;
  union {  // not initialised
    rounded::Accumulator<T> above_[kLevels];
  };
};

}  // namespace assay::cublas
