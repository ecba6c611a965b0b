// The file `follows` of a run that takes its rounding decisions from another's log: whose (docs/formats/run.md). It is written before the first step, so that
// whoever takes the run up again, and its receipt, say the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/run/receipt.h"

namespace assay {

std::string Encode(const Follows& follows);
// Accepts exactly what Encode writes; `what` names the source in errors.
Result<Follows> ParseFollows(std::string_view text, std::string_view what);

// What the file at `path` says; none if there is no file.
Result<std::optional<Follows>> ReadFollows(const std::string& path);

}  // namespace assay
