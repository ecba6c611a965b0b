#include "assay/cli/rules_view.h"

#include "assay/cli/exit_status.h"

namespace assay::cli {

using monitor::RuleResult;
using monitor::RuleState;

namespace {

OrderedJson HoldsOf(RuleState state) {
  if (state == RuleState::kAccepted) return true;
  if (state == RuleState::kRefused || state == RuleState::kDamaged) return false;
  return nullptr;
}

}  // namespace

OrderedJson RuleJson(const RuleResult& rule) {
  return {{"rule", rule.rule},
          {"verdict", rule.verdict},
          {"holds", HoldsOf(rule.state)},
          {"figure", ToJson(rule.figure)},
          {"threshold", ToJson(rule.threshold)},
          {"reason", rule.reason}};
}

std::string RuleText(const RuleResult& rule) {
  const std::string limit = rule.threshold ? fmt::format(" of {:.4g}", *rule.threshold) : "";
  const std::string figure = rule.figure ? fmt::format("{:.4g}{}", *rule.figure, limit) : "";
  return fmt::format("{:<12} {:<14} {:<22} {}", rule.rule, rule.verdict, figure, rule.reason);
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
