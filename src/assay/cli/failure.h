// How a command says that it could not do what was asked: one line on standard error, and for programs that asked for JSON an
// object on the last line of standard output (docs/OUTPUT.md). Not synchronised.
#pragma once

#include <functional>
#include <string>

#include "assay/base/result.h"

namespace assay::cli {

// Prints "assay: MESSAGE" on standard error and, with `json`, {"error":"MESSAGE"} on standard output. Returns kExitBadInput.
int ReportFailure(const std::string& message, bool json);

// The exit status of `run`; an error, or what a library throws when memory or standard output fails, is reported first.
int RunReported(const std::function<Result<int>()>& run, bool json);

}  // namespace assay::cli
