// Answers: what a provider says to a question, and its signature over both (docs/formats/dispute.md). Value types; pure functions.
//
// Bodies come from outside: readers check every length against the question before they allocate, and accept one encoding only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/data/provable.h"
#include "assay/dispute/question.h"
#include "assay/merkle/proof.h"
#include "assay/sign/key.h"

namespace assay::dispute {

// What any answer may have. Each question has a limit of its own (limits.h).
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxBodyBytes = kMaxAnswerBytes - 128;

// Commit: 32 bytes. Expand: 32 bytes for each hash. Parts: u32 each. Their readers know how many there must be.
Bytes EncodeHashes(std::span<const Digest> hashes);
Result<Hashes> ReadHashes(ByteSpan body, std::size_t count);
Bytes EncodeValues(std::span<const ref::Value> values);
Result<std::vector<ref::Value>> ReadValues(ByteSpan body, std::size_t count);

// Leaves: for each span, each leaf as a blob, then the hashes of the proof, whose number follows from the span and the tree.
struct SpanProof {
  std::vector<Bytes> leaves;
  Hashes proof;
};
Bytes EncodeLeaves(std::span<const SpanProof> spans);
Result<std::vector<SpanProof>> ReadLeaves(ByteSpan body, const LeavesQuestion& question, std::uint64_t tree_size,
                                          std::size_t max_leaf_bytes);
// Also that every span proves itself against the root.
Result<std::vector<SpanProof>> OpenLeaves(ByteSpan body, const LeavesQuestion& question, std::uint64_t tree_size,
                                          std::size_t max_leaf_bytes, const Digest& root);

// Samples: the data's descriptor as a blob; for each of its arrays the root and a u32 count of runs, for each run the leaves' bytes as a blob and a u32 count of
// hashes before them (assay/data/provable.h).
struct SamplesAnswer {
  DataDescriptor descriptor;
  BatchProof proof;
};
Bytes EncodeSamples(const SamplesAnswer& answer);
Result<SamplesAnswer> ReadSamples(ByteSpan body, std::size_t max_bytes);

// What goes over the wire and into evidence. Who cannot answer signs nothing.
struct Answer {
  Bytes body;
  Signature signature{};
  friend bool operator==(const Answer&, const Answer&) = default;
};
// Over "assay/answer/2", 0x0a, the SHA-256 of the question's bytes, the SHA-256 of the body, which is at most kMaxBodyBytes long.
Answer Sign(ByteSpan question, Bytes body, const SigningKey& key);
bool IsSignedBy(const Answer& answer, ByteSpan question, const VerifyKey& key);

// A string "assay/answer/2", the body as a blob, the signature.
Bytes Encode(const Answer& answer);
Result<Answer> DecodeAnswer(ByteSpan bytes);

}  // namespace assay::dispute
