// Evidence: a file from which anyone re-derives who was convicted by what, with no network and no trust in the referee (docs/formats/evidence.md). Value types; pure
// functions.
//
// Evidence comes from outside: every length is checked before use, one encoding is accepted, and nothing that it asserts is believed: signatures, claims, the dispute's id
// and the law are gone through again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/dispute/law.h"
#include "assay/dispute/record.h"

namespace assay::dispute {

inline constexpr std::size_t kMaxEvidenceBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxEvidenceProviders = 65536;

struct Evidence {
  Bytes job, program;  // encodings, as the job id binds them
  Digest nonce{};
  bool pair = false;  // of two runs: the verdict calls them a and b
  struct Party {
    std::string receipt;  // the file
    Standing standing = Standing::kStanding;
    bool unsigned_answers = false;  // computed by the referee from a copy of the run; its signatures are zero. Convicts nobody
  };
  std::vector<Party> parties{};
  std::vector<Statement> statements{};
  std::vector<Charge> charges{};
};

// `receipts` by provider.
Evidence MakeEvidence(const Terms& terms, const Digest& nonce, const std::vector<std::string>& receipts, const Record& record);

Bytes Encode(const Evidence& evidence);
Result<Evidence> DecodeEvidence(ByteSpan bytes);

struct Judgement {
  struct Party {
    Standing standing = Standing::kStanding;  // as the evidence names it
    bool proven = true;                       // false: convicted, it says, but this is not shown
    std::string by{};                         // one line: what convicts it, or why nothing does
    std::optional<std::size_t> charge{};      // position in Evidence::charges
  };
  std::vector<Party> parties{};
  std::vector<Finding> findings{};  // of the Trials, in their order, as computed here
  std::string verdict{};            // VerdictOf the standings named
  bool convicts = false;            // somebody is named guilty, and everybody who is has been shown to be
};

// An error: this is no valid evidence, and why. Evidence that is valid need not convict.
Result<Judgement> Judge(const Evidence& evidence);
// The same under another law, whose claims have been opened.
Result<Judgement> JudgeBy(const Law& law, std::span<const Claim> claims, const Evidence& evidence);

}  // namespace assay::dispute
