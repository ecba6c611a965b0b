// Proofs of entries of a log: what `assay verify` reads from anybody.
#include "assay/base/check.h"
#include "assay/run/entry_proof.h"
#include "fuzz/targets.h"

namespace assay::fuzz {
namespace {

const SigningKey& Signer() {
  static const SigningKey kKey("fuzz", HashBytes(AsBytes("seed")).bytes);
  return kKey;
}

template <class T>
void CheckMessage(const Result<T>& result) {
  if (!result) ASSAY_CHECK(!result.error().message.empty() && result.error().message.find('\n') == std::string::npos);
}

}  // namespace

void RunEntryProof(ByteSpan input) {
  const auto proof = ParseEntryProof(AsText(input), "proof");
  CheckMessage(proof);
  if (!proof) return;
  CheckMessage(OpenEntryProof(*proof, Signer().verify_key(), "proof"));
  const auto again = ParseEntryProof(ToJson(*proof), "again");
  ASSAY_CHECK(again && again->entry == proof->entry && again->hashes == proof->hashes && again->root == proof->root);
}

std::vector<Bytes> EntryProofSeeds() {
  const Digest digest = HashBytes(AsBytes("digest"));
  const LogEntry entry{.step = 1, .state_root = digest, .batch_root = digest, .loss_bits = 0x3f800000, .previous = digest};
  const Hashes leaves = {digest, HashOf(entry), digest};
  const Checkpoint checkpoint{.origin = "fuzz/log", .size = 1, .root = HashOf(entry)};
  EntryProof proof{.step = 1,
                   .index = 0,
                   .size = 1,
                   .entry = Encode(entry),
                   .hashes = {},
                   .root = checkpoint.root,
                   .checkpoint = SignCheckpoint(checkpoint, Signer()),
                   .signer = Signer().verify_key()};
  EntryProof longer = proof;
  longer.index = 1;
  longer.size = 3;
  longer.hashes = ProveInclusion(leaves, 1);
  longer.signer.reset();
  return {ToBytes(ToJson(proof)), ToBytes(ToJson(longer))};
}

}  // namespace assay::fuzz
