// How every command ends (docs/EXIT_STATUS.md).
#pragma once

#include "assay/verdict/exit_status.h"  // IWYU pragma: export
