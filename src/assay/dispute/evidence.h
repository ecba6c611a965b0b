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
#include "assay/dispute/game_record.h"
#include "assay/dispute/law.h"
#include "assay/dispute/opening.h"

namespace assay::dispute {

inline constexpr std::size_t kMaxEvidenceProviders = kMaxDisputeReceipts;

// What a reader of evidence allows. A referee writes nothing beyond it (evidence_files.h).
struct EvidenceLimits {
  std::size_t bytes = std::size_t{64} << 20;  // of a file
  // Statements may be used by many trials; going through all of them reads at most so many bytes.
  std::size_t weighed = std::size_t{256} << 20;
};
inline constexpr std::size_t kMaxEvidenceBytes = EvidenceLimits{}.bytes;

struct Evidence {
  Bytes job, program;  // encodings, as the job id binds them
  KeyPoint referee{};
  Digest nonce{};
  bool pair = false;  // of two runs: the verdict calls them a and b
  struct Party {
    std::string receipt;       // the file, of a claim about this job
    std::uint32_t number = 0;  // what the referee called it; ascending
    // Computed by the referee from a copy of the run; its signatures are zero. Convicts nobody, like all answers in a comparison of two runs of one key.
    bool unsigned_answers = false;
  };
  std::vector<Party> parties{};
  // Receipts in which a party claims the same once more, by ascending hash. The dispute's id names them too.
  std::vector<std::string> others{};
  std::vector<Statement> statements{};
  std::vector<Charge> charges{};
};

// Of those who took part: what they handed in, and what the referee called them. `receipts` and `numbers` by provider.
Evidence MakeEvidence(const Terms& terms, const LawOptions& options, std::span<const std::string> receipts,
                      std::span<const std::uint32_t> numbers, const Record& record);
// The same without job and program, for other laws.
Evidence MakeEvidence(const LawOptions& options, std::span<const std::string> receipts, std::span<const std::uint32_t> numbers,
                      const Record& record);
// The same from claims whose receipts are no files; for other laws.
Evidence RenumberedEvidence(const Record& record, std::span<const std::uint32_t> numbers);

Bytes Encode(const Evidence& evidence);
Result<Evidence> DecodeEvidence(ByteSpan bytes, const EvidenceLimits& limits = {});

// What each adds to the encoding.
std::size_t EncodedBytes(const Statement& statement);
std::size_t EncodedBytes(const Charge& charge);

// The statements that a charge rests on, as often as it names them.
std::vector<StatementId> StatementsOf(const Charge& charge);
// What a judge counts for a charge: every statement by its body and kStatementWeight, as often as it is gone through. Shared ones are tried for everybody
// who falls. Statements that are not there count nothing.
inline constexpr std::size_t kStatementWeight = 64;
std::size_t WeighedBytes(const Charge& charge, std::span<const Statement> statements);

struct Judgement {
  struct Party {
    Standing standing = Standing::kStanding;  // as the charges have it
    bool proven = true;                       // false: it has fallen by the referee's word
    std::string by{};                         // one line: what it fell by
    std::optional<std::size_t> charge{};      // position in Evidence::charges
    std::optional<VerifyKey> signer{};        // who signed its receipt
    std::uint32_t number = 0;                 // as in the evidence
  };
  Digest job{};
  std::vector<Party> parties{};
  std::vector<Finding> findings{};     // of the Trials, in their order, as computed here
  std::vector<ProviderId> sides[2]{};  // by Party: the parties that each finding's sides are about
  std::string verdict{};               // VerdictOf the standings, however many there are
  bool convicts = false;  // somebody has been shown to be guilty, whatever other charges come to: no guilt rests on another's
  std::optional<Undecided> drawn{};      // of a Draw: why nobody falls by it, and what would decide it
  std::vector<std::string> unchecked{};  // charges that need something beside the evidence, and what
};

// An error: this is no valid evidence, and why. Evidence that is valid need not convict. However long it is: who reads evidence limits it.
// `start`: the starting weights of a job that takes them from a file, from whoever has it.
Result<Judgement> Judge(const Evidence& evidence, const StartingBytes& start = {});
// Whether one of so many claims is contradicted, by another or by what its own party signed. Where none is, everything is open.
bool IsContradicted(std::size_t claims, const Judgement& judgement);
// How many there are in evidence.
std::size_t ClaimsIn(const Evidence& evidence);
// What the file by itself leads to: the judgement's verdict, where anything is contradicted.
std::string VerdictOf(const Evidence& evidence, const Judgement& judgement);
// The same as Judge under another law, whose claims have been opened.
Result<Judgement> JudgeBy(const Law& law, std::span<const Claim> claims, const Evidence& evidence,
                          std::span<const Claim> others = {});

}  // namespace assay::dispute
