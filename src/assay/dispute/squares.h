// SquaresTree: a sum of squares over a tensor, in double-double and cut into parts, so that parties who differ about it agree part by part down to a few
// blocks (docs/formats/dispute.md).
//
// The tensor is cut into runs of 4096 elements; a value has at most 512 parts, each over as many runs as a power of 512. A run's sum adds its squares one
// after the other, any other value its parts: honest parties have the same bits. Value type; pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/base/result.h"
#include "assay/graph/op_def.h"
#include "assay/numerics/double_double.h"
#include "assay/semantics/ref/derivation.h"

namespace assay::dispute {

class SquaresTree {
 public:
  static constexpr std::size_t kWords = 4;  // of a value: its two doubles

  // Whether an op's element is examined so: a sum of squares over more than can be opened at once.
  static bool Applies(const OpInstance& op);
  explicit SquaresTree(std::int64_t elements) : elements_(elements) {}

  // What a value is over. An error: there is no such value.
  Result<Range> RangeOf(const ref::Path& path) const;
  std::size_t Parts(Range range) const;  // 0: it is one run
  // The values of all parts of `range`, from the tensor, as words.
  std::vector<ref::Value> PartsOf(Range range, const float* x) const;
  // A value from those of its parts, and of a run from the tensor.
  static numerics::DoubleDouble Join(std::span<const ref::Value> parts);
  static numerics::DoubleDouble OfRun(Range range, const float* x);
  static std::vector<ref::Value> Words(const numerics::DoubleDouble& value);

 private:
  std::int64_t PartSize(Range range) const;
  numerics::DoubleDouble ValueOf(Range range, const float* x) const;

  std::int64_t elements_;
};

}  // namespace assay::dispute
