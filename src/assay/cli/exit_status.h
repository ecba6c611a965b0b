// How every command ends (docs/EXIT_STATUS.md).
#pragma once

#include "assay/verdict/exit_status.h"

namespace assay::cli {

using assay::kExitBadInput;
using assay::kExitDamaged;
using assay::kExitOk;
using assay::kExitRefuted;
using assay::kExitUndecided;

}  // namespace assay::cli
