// What a run directory says it trains: the content of its file `id` (docs/formats/run.md). Value type; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"

namespace assay {

struct RunIdentity {
  Digest job{};
  Digest trajectory{};  // of the job without its number of steps: runs that share it pass through the same states
  Digest data{};

  friend bool operator==(const RunIdentity&, const RunIdentity&) = default;
};

std::string Encode(const RunIdentity& identity);
// Accepts exactly what Encode writes; `what` names the source in errors.
Result<RunIdentity> ParseRunIdentity(std::string_view text, std::string_view what);

}  // namespace assay
