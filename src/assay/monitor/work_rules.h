// The strict rules about work: throughput, utilisation, energy and memory against what the job takes. Pure functions.
#pragma once

#include "assay/monitor/rules.h"

namespace assay::monitor {

std::vector<RuleResult> WorkRules(const Telemetry& telemetry, const RunFacts& facts);

}  // namespace assay::monitor
