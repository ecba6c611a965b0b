// What cannot be opened as a run, and is one all the same.
#pragma once

#include <string>

#include "assay/base/result.h"
#include "assay/run/directory.h"

namespace assay::cli {

// Whether this is a run whose copy is damaged, rather than something else or something that this machine cannot read.
inline bool IsDamagedRun(const std::string& path, const Error& error) {
  return !error.system && (RunDirectory::IsRun(path) || RunDirectory::HasRemains(path));
}

}  // namespace assay::cli
