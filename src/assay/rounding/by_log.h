// What a log says about one element, held against the truth about it: the test that convicts in disputes, and that audits apply before they call a run verified.
// Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "assay/numerics/double_double.h"
#include "assay/rounding/follow.h"

namespace assay::rounding {

struct ByLog {
  bool lied = false;  // the value is not one to which the log leads a correct evaluation
  std::string_view
      log_false{};  // what the log says that no correct evaluation leads to, to be read after "the rounding log"; empty: nothing
  bool holds() const { return !lied && log_false.empty(); }
};

// x is the true value of an element, e the bound on the distance of a correct evaluation from it, `value` what somebody claims. `said`: what its log says, if
// anything.
ByLog JudgeByDecision(const numerics::Grid& grid, const std::optional<Decision>& said, const numerics::DoubleDouble& x,
                      double e, float value);
// By the published rule, with the threshold of the element's op.
ByLog JudgeBySymbol(const numerics::Grid& grid, std::uint8_t symbol, double tau, const numerics::DoubleDouble& x, double e,
                    float value);

}  // namespace assay::rounding
