// Whether this user may read a run: what may not be read is nobody's damage, and one answer from every command (docs/EXIT_STATUS.md, 2).
#pragma once

#include <string>

#include "assay/base/result.h"

namespace assay::cli {

// An error names the first file of the directory, in ascending order, that may not be read. What is not a directory is for others to report.
Status CheckReadable(const std::string& run);

}  // namespace assay::cli
