#include "assay/cli/rules_view.h"

#include <cmath>

#include "assay/cli/exit_status.h"

namespace assay::cli {

using monitor::Bound;
using monitor::RuleResult;
using monitor::RuleState;

namespace {

OrderedJson HoldsOf(RuleState state) {
  if (state == RuleState::kAccepted) return true;
  if (state == RuleState::kRefused || state == RuleState::kDamaged) return false;
  return nullptr;
}

// Counts are integers.
OrderedJson NumberOf(const std::optional<double>& value) {
  return value && *value == std::floor(*value) ? Whole(*value) : ToJson(value);
}

OrderedJson BoundOf(const RuleResult& rule) {
  if (!rule.threshold || rule.bound == Bound::kOf) return nullptr;
  return rule.bound == Bound::kAtMost ? "at most" : "at least";
}

// "≤ 4", "≥ 0.25", "of 50".
std::string LimitText(const RuleResult& rule) {
  if (!rule.threshold) return "";
  const std::string_view sign = rule.bound == Bound::kOf ? "of" : rule.bound == Bound::kAtMost ? "\u2264" : "\u2265";
  return fmt::format("{} {:.4g}", sign, *rule.threshold);
}

constexpr char kRow[] = "{:<12} {:<14} {:<11} {:<13} {}";

}  // namespace

OrderedJson RuleJson(const RuleResult& rule) {
  return {{"rule", rule.rule},
          {"verdict", rule.verdict},
          {"holds", HoldsOf(rule.state)},
          {"figure", NumberOf(rule.figure)},
          {"threshold", NumberOf(rule.threshold)},
          {"bound", BoundOf(rule)},
          {"reason", rule.reason.empty() ? OrderedJson(nullptr) : OrderedJson(rule.reason)}};
}

std::string RuleHeading() { return fmt::format(kRow, "rule", "verdict", "figure", "limit", "reason"); }

std::string RuleText(const RuleResult& rule) {
  return fmt::format(kRow, rule.rule, rule.verdict, rule.figure ? fmt::format("{:.4g}", *rule.figure) : "", LimitText(rule),
                     rule.reason);
}

Tone ToneOf(RuleState state) { return state == RuleState::kRefused || state == RuleState::kDamaged ? Tone::kBad : Tone::kGood; }

int StatusOf(RuleState state) {
  switch (state) {
    case RuleState::kAccepted:
    case RuleState::kNotApplicable: return kExitOk;
    case RuleState::kRefused: return kExitRefuted;
    case RuleState::kUnchecked: return kExitUndecided;
    case RuleState::kDamaged: return kExitDamaged;
  }
  return kExitDamaged;
}

}  // namespace assay::cli
