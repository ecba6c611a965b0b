// What a log says about one element, from the few parts of it that tell. Pure functions.
//
// Parts come from somebody who may lie about what is in a log but not about which bytes are in it: every number is checked before it is used, and no part is
// larger than a segment.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/rounding/follow.h"

namespace assay::rounding {

// A log of which not everything is at hand.
class PartialLog {
 public:
  virtual ~PartialLog() = default;
  virtual std::uint64_t size() const = 0;
  // Bytes [begin, end), which are within it. An error ends the search and says nothing about the log.
  virtual Result<Bytes> Read(std::uint64_t begin, std::uint64_t end) = 0;
};

// Of a log of decisions about a step with so many elements: the decision about `position`, if there is one. An error that Read did not make: it is not such a
// log.
Result<std::optional<Decision>> FindDecision(PartialLog& log, std::uint64_t elements, std::uint64_t position);

// Of a log by the published rule: the symbol of `position`.
Result<std::uint8_t> FindSymbol(PartialLog& log, std::uint64_t elements, std::uint64_t position);

}  // namespace assay::rounding
