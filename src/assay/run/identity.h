// What a run directory says it trains, and who signs for it: the content of its file `id` (docs/formats/run.md). Value type; pure functions.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/key.h"

namespace assay {

struct RunIdentity {
  Digest job{};
  Digest trajectory{};  // of the job without its number of steps: runs that share it pass through the same states
  Digest data{};        // data root

  friend bool operator==(const RunIdentity&, const RunIdentity&) = default;
};

// The whole of the file `id`: the identity, and what binds the files that are written once.
struct RunHeader {
  RunIdentity identity;
  VerifyKey signer;
  Digest job_toml{};  // SHA-256 of these files
  Digest job_bin{};
  Digest program_bin{};

  friend bool operator==(const RunHeader&, const RunHeader&) = default;
};

// The files that are written once, by name, and what the header says they hash to.
struct FixedFile {
  std::string_view name;
  Digest digest;
};
std::array<FixedFile, 3> FixedFiles(const RunHeader& header);

std::string Encode(const RunHeader& header);
// Accepts exactly what Encode writes; `what` names the source in errors.
Result<RunHeader> ParseRunHeader(std::string_view text, std::string_view what);

}  // namespace assay
