// What one file shows by itself, offline: receipts, checkpoints and proofs of a log, models, snapshots, evidence. Pure but for reading the file; thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/cli/json.h"
#include "assay/dispute/claim.h"
#include "assay/sign/key.h"
#include "assay/tensor/safetensors.h"

namespace assay::cli {

// What the file is held against.
struct Against {
  std::optional<VerifyKey> signer{};        // who must have signed
  std::optional<dispute::Claim> receipt{};  // well signed, by `signer` where there is one
};

struct Verification {
  std::string kind;                  // "receipt", "checkpoint", "proof", "model", "snapshot", "evidence", "delivery", "packed"
  std::optional<bool> valid;         // none: there is nothing at hand to check it by
  bool decides = true;               // of valid evidence: it convicts somebody, or all who take part agree
  bool damaged = false;              // of what is not valid: a bad copy, of which nobody can say whose it is
  std::string reason{};              // why it is not valid, or cannot be told
  std::vector<std::string> shows{};  // in words, what it shows and what it does not
  std::vector<std::string> assumed{};  // what it takes on trust
};
// What is not valid because it is not what it is held against, or not of whom; and because the copy is bad.
Verification Contradicted(std::string kind, std::string reason);
Verification Damaged(std::string kind, std::string reason);
int ExitStatusOf(const Verification& verification);

Verification VerifyReceipt(std::string_view text, const std::string& path, const Against& against);
Verification VerifyCheckpoint(std::string_view text, const std::string& path, const Against& against);
Verification VerifyProof(std::string_view text, const std::string& path, const Against& against);
Verification VerifyModel(const Safetensors& file, const Against& against, ThreadPool& pool);
// Alone it is left open: no signature can be checked. A receipt binds the first and the last state. Of any other, a well signed snapshot is left open where only a receipt is there to tell: what its log says, a proof
// shows.
Verification VerifySnapshot(const Safetensors& file, const Against& against, ThreadPool& pool);
// Data that assay data pack has made: against what it says of itself.
Result<Verification> VerifyPacked(const std::string& path, ThreadPool& pool);
// An error: it is no valid evidence.
Result<Verification> VerifyEvidence(ByteSpan bytes, const std::string& path, const Against& against);

// A folder that `assay fetch` left. `against.signer` is the coordinator.
bool IsDelivery(const std::string& path);
// What can be done with it, for commands that expect a run.
Error NotARunButADelivery(const std::string& folder);
Result<Verification> VerifyDelivery(const std::string& folder, const Against& against, ThreadPool& pool);

// Finds out what kind of file it is first. An error: of none of these kinds, not valid evidence, or it cannot be read.
Result<Verification> VerifyFile(const std::string& path, const Against& against, ThreadPool& pool);
// Whether `path` looks like a file that VerifyFile knows, other than a safetensors file.
bool IsSignedFile(const std::string& path);
// What a file looks like, whether or not it is well made: "receipt", "checkpoint", "proof", "model or snapshot", "packed data file"; empty:
// an unknown kind of file.
std::string_view KindWord(ByteSpan bytes);

void AddVerification(OrderedJson& json, const Verification& verification);  // kind, valid, damaged, reason, shows, assumed
std::string VerificationText(const Verification& verification);

}  // namespace assay::cli
