// The rule that both sets share: the exact set of (epoch, iteration).
#pragma once

#include "assay/monitor/rules.h"

namespace assay::monitor {

RuleResult IterationRule(const Telemetry& telemetry, const RunFacts& facts);

// A result of a rule.
inline RuleResult Judged(std::string rule, bool holds, std::optional<double> figure, std::optional<double> threshold,
                         std::string reason) {
  return {.rule = std::move(rule),
          .verdict = holds ? "accepted" : "refused",
          .state = holds ? RuleState::kAccepted : RuleState::kRefused,
          .figure = figure,
          .threshold = threshold,
          .reason = std::move(reason)};
}
// One with a name of its own.
inline RuleResult Named(std::string rule, std::string verdict, RuleState state, std::string reason,
                        std::optional<double> figure = std::nullopt, std::optional<double> threshold = std::nullopt) {
  return {.rule = std::move(rule),
          .verdict = std::move(verdict),
          .state = state,
          .figure = figure,
          .threshold = threshold,
          .reason = std::move(reason)};
}
// The same result, of a rule whose threshold is a bound.
inline RuleResult Bounded(Bound bound, RuleResult result) {
  result.bound = bound;
  return result;
}

}  // namespace assay::monitor
