// How a dispute ended, for people at a terminal; verdict/view.h has what they are told. Pure functions.
#pragma once

#include "assay/cli/json.h"
#include "assay/cli/next_steps.h"
#include "assay/verdict/view.h"

namespace assay::cli {

using verdict::AddVerdict;
using verdict::Convicts;
using verdict::Explanation;
using verdict::NamedParty;
using verdict::RunAudit;
using verdict::VerdictView;
using verdict::ViewOf;
using verdict::WorthOf;

std::string VerdictText(const VerdictView& view);

// Of a dispute. 0: somebody stands and is right, or all agree; 1: nobody stands; 3: undecided; 4: damaged.
int ExitStatusOf(const VerdictView& view);

}  // namespace assay::cli
