// Verdicts of rules (docs/CHECKS.md) as commands print them.
#pragma once

#include <string>

#include "assay/cli/colour.h"
#include "assay/cli/json.h"
#include "assay/monitor/rules.h"

namespace assay::cli {

// rule, verdict, holds, figure, threshold, bound, reason.
OrderedJson RuleJson(const monitor::RuleResult& rule);
// Lines without their ends.
std::string RuleHeading();
std::string RuleText(const monitor::RuleResult& rule);
Tone ToneOf(monitor::RuleState state);
int StatusOf(monitor::RuleState state);

}  // namespace assay::cli
