// A debug walk through a plan: follows who owns which memory, launch by launch, without computing anything.
#pragma once

#include <string>

#include "assay/exec/plan.h"

namespace assay::testkit {

// Empty, or the first read of memory that no longer (or not yet) holds the value, or the first forbidden overlap.
std::string WalkPlan(const Graph& graph, const exec::PlanOptions& options, const exec::Plan& plan);

}  // namespace assay::testkit
