// Unbounded: a dispute about an element of a rounded job of which the law cannot say what it is, so that the rounding logs of both are read. Immutable.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/rounding/paper_log.h"
#include "assay/run/entry.h"
#include "crafted.h"

namespace assay::dispute {

// A dispute about the first element of what a node gives, whose bound is infinite: an attention with scores so large that the bound of every weight is. Or whose
// bound is not a number: a layernorm of a row of large equal values, in which nothing is multiplied by what may be anything.
class Unbounded {
 public:
  static constexpr std::int64_t kStep = 2;  // in which the parties differ

  Unbounded(std::int64_t bits, RoundRule rule, bool nan);

  const Terms& terms() const { return terms_; }
  std::uint64_t elements() const { return elements_; }
  // Logs: one decision, about the element; none; symbols, all but the element's "not close".
  Bytes Decided(float value) const;
  Bytes Silent() const;
  Bytes Symbols(std::uint8_t symbol = rounding::kNotClose) const;

  // A party that says so of the element, with this log. `leaf`: what it commits to in the log's place.
  ProviderId Add(Crafted& crafted, bool liar, float said, Bytes log, std::optional<RoundingLeaf> leaf = {}) const;

 private:
  Terms terms_;
  bool nan_;
  std::size_t node_ = 0;
  std::uint64_t position_ = 0, elements_ = 0;
};

}  // namespace assay::dispute
