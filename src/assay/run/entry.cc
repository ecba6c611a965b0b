#include "assay/run/entry.h"

#include <algorithm>
#include <limits>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"

namespace assay {
namespace {

constexpr std::string_view kTag = "assay/entry/1";
constexpr std::string_view kRoundedTag = "assay/entry-rounded/1";

Result<Digest> ReadDigest(ByteReader& in) {
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(32));
  Digest digest;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

}  // namespace

Bytes Encode(const LogEntry& entry) {
  ByteWriter out;
  out.String(entry.rounding_root ? kRoundedTag : kTag);
  out.I64(entry.step);
  out.Raw(entry.state_root.bytes);
  out.Raw(entry.batch_root.bytes);
  out.U32(entry.loss_bits);
  if (entry.rounding_root) out.Raw(entry.rounding_root->bytes);
  out.Raw(entry.previous.bytes);
  return out.Take();
}

Result<LogEntry> DecodeLogEntry(ByteSpan bytes, std::string_view what) {
  ByteReader in(bytes, what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag && tag != kRoundedTag) return Err("{}: expected an entry of a run's log ({})", what, kTag);
  LogEntry entry;
  ASSAY_ASSIGN(entry.step, in.I64());
  if (entry.step < 0 || entry.step > std::numeric_limits<std::uint32_t>::max()) {
    return Err("{}: step is {}, expected 0 .. {}", what, entry.step, std::numeric_limits<std::uint32_t>::max());
  }
  ASSAY_ASSIGN(entry.state_root, ReadDigest(in));
  ASSAY_ASSIGN(entry.batch_root, ReadDigest(in));
  ASSAY_ASSIGN(entry.loss_bits, in.U32());
  if (tag == kRoundedTag) {
    ASSAY_ASSIGN(entry.rounding_root, ReadDigest(in));
  }
  ASSAY_ASSIGN(entry.previous, ReadDigest(in));
  ASSAY_TRY(in.End());
  return entry;
}

Digest HashOf(const LogEntry& entry) { return LeafHash(Encode(entry)); }

Digest BatchRootOfSteps(std::span<const Digest> batch_roots) {
  std::vector<Digest> leaves;
  leaves.reserve(batch_roots.size());
  for (const Digest& root : batch_roots) leaves.push_back(LeafHash(root.bytes));
  return TreeRoot(std::move(leaves));
}

RoundingLeaf RoundingLeafOf(ByteSpan log) { return {.bytes = log.size(), .root = TensorRoot(log)}; }

Bytes Encode(const RoundingLeaf& leaf) {
  ByteWriter out;
  out.U64(leaf.bytes);
  out.Raw(leaf.root.bytes);
  return out.Take();
}

Result<RoundingLeaf> DecodeRoundingLeaf(ByteSpan bytes) {
  ByteReader in(bytes, "rounding log's leaf");
  RoundingLeaf leaf;
  ASSAY_ASSIGN(leaf.bytes, in.U64());
  ASSAY_ASSIGN(leaf.root, ReadDigest(in));
  ASSAY_TRY(in.End());
  return leaf;
}

Digest RoundingRootOfSteps(std::span<const RoundingLeaf> logs) {
  std::vector<Digest> leaves;
  leaves.reserve(logs.size());
  for (const RoundingLeaf& log : logs) leaves.push_back(LeafHash(Encode(log)));
  return TreeRoot(std::move(leaves));
}

}  // namespace assay
