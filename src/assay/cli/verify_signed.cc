// Receipts, checkpoints and proofs: text that somebody signed.
#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "assay/base/base64.h"
#include "assay/cli/verification.h"
#include "assay/run/entry_proof.h"
#include "assay/run/identity.h"
#include "assay/sign/note.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxIdBytes = 4096;

// The key to check a log's signature by, and where it came from. A note names its signer by four bytes of a hash, which is not enough to check by.
struct LogKey {
  VerifyKey key;
  std::string taken;  // empty: the caller insisted on it
};

// RUN/log/checkpoint stands in a run, whose id names the signer.
std::optional<VerifyKey> SignerOfRunAround(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string id = JoinPath(slash == std::string::npos ? "." : path.substr(0, slash), "../id");
  const auto bytes = Exists(id) ? ReadFile(id, kMaxIdBytes) : Err("none");
  if (!bytes) return std::nullopt;
  const auto header = ParseRunHeader({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, id);
  return header ? std::optional(header->signer) : std::nullopt;
}

Verification Unsigned(std::string kind) {
  return {.kind = std::move(kind),
          .valid = std::nullopt,
          .reason =
              "nothing at hand says whose signature this must be; name the signer with --signer KEY, or the run's receipt with "
              "--receipt FILE"};
}

// Whom a line under a note names: a key's name and the four bytes of its hash.
struct NoteSigner {
  std::string name;
  std::uint32_t hash = 0;
};

// Of all lines under a note; nothing where one of them is none.
std::optional<std::vector<NoteSigner>> SignersOf(std::string_view note) {
  constexpr std::string_view kLine = "\n\xe2\x80\x94 ";
  std::vector<NoteSigner> signers;
  for (std::size_t at = note.find(kLine); at != std::string_view::npos; at = note.find(kLine, at + 1)) {
    std::string_view line = note.substr(at + kLine.size());
    line = line.substr(0, line.find('\n'));
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto bytes = FromBase64(line.substr(std::min(space + 1, line.size())));
    if (!bytes || bytes->size() < 4) return std::nullopt;
    NoteSigner signer{.name = std::string(line.substr(0, space))};
    for (std::size_t i = 0; i < 4; ++i) signer.hash = signer.hash << 8 | (*bytes)[i];
    signers.push_back(std::move(signer));
  }
  return signers;
}

// Whether a note carries signatures, and none in the name of `key`: then it is somebody else's, and no bad copy of one of `key`.
bool IsOfOthers(std::string_view note, const VerifyKey& key) {
  const auto signers = SignersOf(note);
  return signers && !signers->empty() && std::ranges::none_of(*signers, [&](const NoteSigner& signer) {
           return signer.name == key.name() && signer.hash == key.hash();
         });
}

// The same key under the name by which the note calls it, if it does: a key may have several.
VerifyKey AsNamedIn(std::string_view note, const VerifyKey& key) {
  for (const NoteSigner& signer : SignersOf(note).value_or(std::vector<NoteSigner>{})) {
    if (!IsKeyName(signer.name)) continue;
    VerifyKey named(signer.name, key.point());
    if (named.hash() == signer.hash) return named;
  }
  return key;
}

std::optional<LogKey> KeyFor(std::string_view note, const Against& against, const std::optional<VerifyKey>& named,
                             std::string_view by) {
  if (against.signer) return LogKey{AsNamedIn(note, *against.signer), {}};
  if (against.receipt)
    return LogKey{AsNamedIn(note, against.receipt->signer),
                  "the signer is whoever the receipt names; --signer KEY insists on one"};
  if (named) return LogKey{*named, fmt::format("the signer is whoever {} names; --signer KEY insists on one", by)};
  return std::nullopt;
}

// Of a note that cannot be opened by `key`.
Verification NotOpened(std::string kind, const Error& error, std::string_view note, const LogKey& key, const Against& against) {
  if ((against.signer || against.receipt) && IsOfOthers(note, key.key)) {
    return Contradicted(std::move(kind), fmt::format("is not signed by {}", key.key.ToString()));
  }
  return Damaged(std::move(kind), error.message);
}

// Whether the log is that of the receipt, once both are well signed.
std::string DifferentLog(const Checkpoint& checkpoint, const Against& against) {
  if (!against.receipt || against.receipt->receipt.log == checkpoint) return {};
  return fmt::format("is of another log than the receipt's, whose {} entries have the root {}",
                     against.receipt->receipt.log.size, against.receipt->receipt.log.root.hex());
}

std::string SignedLog(const VerifyKey& key, const Checkpoint& checkpoint) {
  return fmt::format("{} signed that the log {} has {} entries with the root {}", key.ToString(), checkpoint.origin,
                     checkpoint.size, checkpoint.root.hex());
}

}  // namespace

Verification VerifyReceipt(std::string_view text, const std::string& path, const Against& against) {
  const auto claim = dispute::OpenClaim(text, path);
  if (!claim) return Damaged("receipt", claim.error().message);
  if (against.signer && claim->signer.point() != against.signer->point()) {
    return Contradicted("receipt",
                        fmt::format("is signed by {}, not by {}", claim->signer.ToString(), against.signer->ToString()));
  }
  const Receipt& r = claim->receipt;
  Verification out{.kind = "receipt", .valid = true};
  out.shows.push_back(fmt::format("{} signed for a run of job {}: {} steps on the data {}", claim->signer.ToString(),
                                  r.job.hex(), r.steps, r.data.hex()));
  out.shows.push_back(
      fmt::format("it promises the final state {}, the weights {}, the loss {} and a log of {} entries with the root {}",
                  r.final_state_root.hex(), r.weights.hex(), std::bit_cast<float>(r.loss_bits), r.log.size, r.log.root.hex()));
  if (r.follows) {
    out.shows.push_back(fmt::format("its rounding decisions are those of the run of {} with the log {}", r.follows->signer,
                                    r.follows->log_root.hex()));
  }
  out.shows.push_back("it does not show that the training was done as the job says: assay audit RUN does");
  if (!against.signer) out.assumed.push_back("the signer is whoever the receipt names; --signer KEY insists on one");
  return out;
}

Verification VerifyCheckpoint(std::string_view text, const std::string& path, const Against& against) {
  const auto key = KeyFor(text, against, SignerOfRunAround(path), "the id of the run around it");
  if (!key) return Unsigned("checkpoint");
  const auto checkpoint = OpenCheckpoint(text, key->key, path);
  if (!checkpoint) return NotOpened("checkpoint", checkpoint.error(), text, *key, against);
  if (const std::string differs = DifferentLog(*checkpoint, against); !differs.empty())
    return Contradicted("checkpoint", differs);
  Verification out{.kind = "checkpoint", .valid = true};
  out.shows.push_back(SignedLog(key->key, *checkpoint));
  if (against.receipt) out.shows.push_back("it is the log that the receipt promises");
  out.shows.push_back("it does not show that the entries are true: assay audit RUN does");
  if (!key->taken.empty()) out.assumed.push_back(key->taken);
  return out;
}

Verification VerifyProof(std::string_view text, const std::string& path, const Against& against) {
  const auto proof = ParseEntryProof(text, path);
  if (!proof) return Damaged("proof", proof.error().message);
  const auto key = KeyFor(proof->checkpoint, against, proof->signer, "the proof");
  if (!key) return Unsigned("proof");
  const auto proven = OpenEntryProof(*proof, key->key, path);
  if (!proven) return NotOpened("proof", proven.error(), proof->checkpoint, *key, against);
  const auto& [entry, checkpoint] = *proven;
  if (const std::string differs = DifferentLog(checkpoint, against); !differs.empty()) return Contradicted("proof", differs);
  Verification out{.kind = "proof", .valid = true};
  out.shows.push_back(SignedLog(key->key, checkpoint));
  out.shows.push_back(fmt::format("entry {} of it says that the state after step {} is {} and the loss of that step {}",
                                  proof->index, entry.step, entry.state_root.hex(), std::bit_cast<float>(entry.loss_bits)));
  if (against.receipt) out.shows.push_back("it is the log that the receipt promises");
  out.shows.push_back("it does not show that the entry is true: assay audit RUN does");
  if (!key->taken.empty()) out.assumed.push_back(key->taken);
  return out;
}

}  // namespace assay::cli
