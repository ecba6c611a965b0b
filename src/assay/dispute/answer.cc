#include "assay/dispute/answer.h"

#include <algorithm>
#include <utility>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

constexpr std::string_view kTag = "assay/answer/2";
constexpr std::size_t kMaxProofHashes = 124;  // RangeProofSize of any range

Digest DigestFrom(ByteSpan bytes) {
  Digest digest;
  std::ranges::copy(bytes, digest.bytes.begin());
  return digest;
}

void WriteHashes(std::span<const Digest> hashes, ByteWriter& out) {
  for (const Digest& hash : hashes) out.Raw(hash.bytes);
}

Result<Hashes> ReadHashes(ByteReader& in, std::size_t count) {
  if (count > in.remaining() / 32) return Err("answer: expected {} hashes, {} bytes are left", count, in.remaining());
  Hashes hashes;
  hashes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(const ByteSpan hash, in.Raw(32));
    hashes.push_back(DigestFrom(hash));
  }
  return hashes;
}

Result<SpanProof> ReadSpanProof(ByteReader& in, const LeafSpan& span, std::uint64_t tree_size, std::size_t max_leaf_bytes) {
  SpanProof proof;
  for (std::uint64_t i = span.begin; i < span.end; ++i) {
    ASSAY_ASSIGN(const std::uint64_t size, in.U64());
    if (size > max_leaf_bytes) return Err("answer: leaf {} has {} bytes, expected at most {}", i, size, max_leaf_bytes);
    ASSAY_ASSIGN(const ByteSpan leaf, in.Raw(static_cast<std::size_t>(size)));
    proof.leaves.emplace_back(leaf.begin(), leaf.end());
  }
  const std::uint64_t hashes = RangeProofSize(span.begin, span.end, tree_size);
  ASSAY_ASSIGN(proof.proof, ReadHashes(in, static_cast<std::size_t>(hashes)));
  return proof;
}

void WriteRun(const LeafRun& run, ByteWriter& out) {
  out.Blob(run.bytes);
  out.U32(static_cast<std::uint32_t>(run.proof.size()));
  WriteHashes(run.proof, out);
}

Result<LeafRun> ReadRun(ByteReader& in) {
  LeafRun run;
  ASSAY_ASSIGN(run.bytes, in.Blob());
  ASSAY_ASSIGN(const std::uint32_t hashes, in.U32());
  if (hashes > kMaxProofHashes) return Err("answer: a proof has {} hashes, expected at most {}", hashes, kMaxProofHashes);
  ASSAY_ASSIGN(run.proof, ReadHashes(in, hashes));
  return run;
}

Result<ArrayProof> ReadArrayProof(ByteReader& in) {
  ArrayProof array;
  ASSAY_ASSIGN(const ByteSpan root, in.Raw(32));
  array.root = DigestFrom(root);
  ASSAY_ASSIGN(const std::uint32_t runs, in.U32());
  constexpr std::size_t kLeast = 8 + 4;  // bytes of a run
  if (runs > in.remaining() / kLeast) return Err("answer: expected {} runs of leaves, {} bytes are left", runs, in.remaining());
  for (std::uint32_t i = 0; i < runs; ++i) {
    ASSAY_ASSIGN(LeafRun run, ReadRun(in));
    array.runs.push_back(std::move(run));
  }
  return array;
}

Bytes MessageOf(ByteSpan question, ByteSpan body) {
  ByteWriter out;
  out.Raw(AsBytes(kTag));
  out.U8('\n');
  out.Raw(HashBytes(question).bytes);
  out.Raw(HashBytes(body).bytes);
  return out.Take();
}

}  // namespace

Bytes EncodeHashes(std::span<const Digest> hashes) {
  ByteWriter out;
  WriteHashes(hashes, out);
  return out.Take();
}

Result<Hashes> ReadHashes(ByteSpan body, std::size_t count) {
  ByteReader in(body, "answer");
  ASSAY_ASSIGN(Hashes hashes, ReadHashes(in, count));
  ASSAY_TRY(in.End());
  return hashes;
}

Bytes EncodeValues(std::span<const ref::Value> values) {
  ByteWriter out;
  for (const ref::Value value : values) out.U32(value);
  return out.Take();
}

Result<std::vector<ref::Value>> ReadValues(ByteSpan body, std::size_t count) {
  if (count > body.size() / 4) return Err("answer: expected {} values, got {} bytes", count, body.size());
  ByteReader in(body, "answer");
  std::vector<ref::Value> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(const ref::Value value, in.U32());
    values.push_back(value);
  }
  ASSAY_TRY(in.End());
  return values;
}

Bytes EncodeLeaves(std::span<const SpanProof> spans) {
  ByteWriter out;
  for (const SpanProof& span : spans) {
    for (const Bytes& leaf : span.leaves) out.Blob(leaf);
    WriteHashes(span.proof, out);
  }
  return out.Take();
}

Result<std::vector<SpanProof>> ReadLeaves(ByteSpan body, const LeavesQuestion& question, std::uint64_t tree_size,
                                          std::size_t max_leaf_bytes) {
  ByteReader in(body, "answer");
  std::vector<SpanProof> spans;
  for (const LeafSpan& span : question.spans) {
    if (span.begin >= span.end || span.end > tree_size || tree_size > INT64_MAX) {
      return Err("answer: leaves {} .. {} are none of a tree of {}", span.begin, span.end, tree_size);
    }
    ASSAY_ASSIGN(SpanProof proof, ReadSpanProof(in, span, tree_size, max_leaf_bytes));
    spans.push_back(std::move(proof));
  }
  ASSAY_TRY(in.End());
  return spans;
}

Result<std::vector<SpanProof>> OpenLeaves(ByteSpan body, const LeavesQuestion& question, std::uint64_t tree_size,
                                          std::size_t max_leaf_bytes, const Digest& root) {
  ASSAY_ASSIGN(std::vector<SpanProof> spans, ReadLeaves(body, question, tree_size, max_leaf_bytes));
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Hashes hashes;
    for (const Bytes& leaf : spans[i].leaves) hashes.push_back(LeafHash(leaf));
    ASSAY_TRY(VerifyRange(hashes, question.spans[i].begin, tree_size, spans[i].proof, root));
  }
  return spans;
}

Bytes EncodeSamples(const SamplesAnswer& answer) {
  ByteWriter out;
  out.Blob(assay::Encode(answer.descriptor));
  for (const ArrayProof& array : answer.proof) {
    out.Raw(array.root.bytes);
    out.U32(static_cast<std::uint32_t>(array.runs.size()));
    for (const LeafRun& run : array.runs) WriteRun(run, out);
  }
  return out.Take();
}

Result<SamplesAnswer> ReadSamples(ByteSpan body, std::size_t max_bytes) {
  if (body.size() > max_bytes) return Err("answer: {} bytes, expected at most {}", body.size(), max_bytes);
  ByteReader in(body, "answer");
  SamplesAnswer answer;
  ASSAY_ASSIGN(const std::uint64_t size, in.U64());
  if (size > in.remaining()) return Err("answer: a descriptor of {} bytes, {} are left", size, in.remaining());
  ASSAY_ASSIGN(const ByteSpan descriptor, in.Raw(static_cast<std::size_t>(size)));
  ASSAY_ASSIGN(answer.descriptor, DecodeDescriptor(descriptor, "answer"));
  for (std::size_t i = 0, arrays = ArraysOf(answer.descriptor).size(); i < arrays; ++i) {
    ASSAY_ASSIGN(ArrayProof array, ReadArrayProof(in));
    answer.proof.push_back(std::move(array));
  }
  ASSAY_TRY(in.End());
  return answer;
}

Answer Sign(ByteSpan question, Bytes body, const SigningKey& key) {
  ASSAY_CHECK(body.size() <= kMaxBodyBytes);
  const Signature signature = key.Sign(MessageOf(question, body));
  return {.body = std::move(body), .signature = signature};
}

bool IsSignedBy(const Answer& answer, ByteSpan question, const VerifyKey& key) {
  return key.Verify(MessageOf(question, answer.body), answer.signature);
}

Bytes Encode(const Answer& answer) {
  ByteWriter out;
  out.String(kTag);
  out.Blob(answer.body);
  out.Raw(answer.signature);
  return out.Take();
}

Result<Answer> DecodeAnswer(ByteSpan bytes) {
  if (bytes.size() > kMaxAnswerBytes) return Err("answer: expected at most {} bytes, got {}", kMaxAnswerBytes, bytes.size());
  ByteReader in(bytes, "answer");
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("answer: expected {}", kTag);
  Answer answer;
  ASSAY_ASSIGN(answer.body, in.Blob());
  ASSAY_ASSIGN(const ByteSpan signature, in.Raw(answer.signature.size()));
  std::ranges::copy(signature, answer.signature.begin());
  ASSAY_TRY(in.End());
  return answer;
}

}  // namespace assay::dispute
