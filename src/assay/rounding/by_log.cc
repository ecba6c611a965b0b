#include "assay/rounding/by_log.h"

#include "assay/rounding/decision.h"
#include "assay/rounding/paper_log.h"

namespace assay::rounding {
namespace {

constexpr std::string_view kRoundsSo = "rounds that element as no correct evaluation does";

}  // namespace

ByLog JudgeByDecision(const numerics::Grid& grid, const std::optional<Decision>& said, const numerics::DoubleDouble& x,
                      double e, float value) {
  const bool can = CanRoundTo(grid, x, e, value);
  if (!said) {
    if (!can) return {.lied = true};
    if (!MustDecide(grid, x, e, value)) return {};
    return {.log_false = "leaves out how that element was rounded, which every correct evaluation writes down"};
  }
  if (!CanFollowTo(grid, *said, x, e, value)) return {.lied = true};
  return {.log_false = can ? std::string_view() : kRoundsSo};
}

ByLog JudgeBySymbol(const numerics::Grid& grid, std::uint8_t symbol, double tau, const numerics::DoubleDouble& x, double e,
                    float value) {
  const double y = numerics::ToDouble(x) + 0.0, reach = Reach(e) / 2;
  const bool can = CanRoundTo(grid, x, e, value);
  if (symbol == kNotClose) {
    if (!can) return {.lied = true};
    if (PaperCanBeSilent(grid, y, reach, tau, value)) return {};
    return {.log_false = "calls that element not close, which every correct evaluation that rounds so calls close"};
  }
  if (!PaperCanFollowTo(grid, y, reach, symbol, value)) return {.lied = true};
  return {.log_false = can && PaperCanHave(grid, y, reach, tau, symbol) ? std::string_view() : kRoundsSo};
}

}  // namespace assay::rounding
