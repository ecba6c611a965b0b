#include "assay/dispute/limits.h"

#include <algorithm>

#include "assay/dispute/answer.h"
#include "assay/dispute/leaf_records.h"
#include "assay/job/limits.h"
#include "assay/merkle/tree.h"
#include "assay/run/entry.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kFrame = 256;       // the encoding of an answer without its body
constexpr std::size_t kDescriptor = 128;  // the encoding of any data's
constexpr std::size_t kProof = 32 * 124;  // of any range
constexpr std::size_t kRoundingLeaf = 8 + 32;
constexpr std::uint64_t kMany = std::uint64_t{1} << 20;  // whatever is asked for so often does not fit

std::size_t EntryBytesOf(const Terms& terms) {
  LogEntry entry;
  if (terms.job().precision == Precision::kFp64Rounded) entry.rounding_root.emplace();
  return Encode(entry).size();
}

std::size_t BlockBytes(const TensorType& type, std::uint64_t leaf) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(kLeafBytes, type.bytes() - leaf * kLeafBytes));
}

template <class Size>
std::size_t LeavesBody(const Terms& terms, const LeavesQuestion& question, const Size& size_of) {
  const Result<std::uint64_t> size = terms.TreeSize(question.tree);
  std::size_t bytes = 0;
  for (const LeafSpan& span : question.spans) {
    if (!size || span.begin >= span.end || span.end > *size || span.size() > kMaxLeavesAsked) return 0;
    for (std::uint64_t leaf = span.begin; leaf < span.end; ++leaf) bytes += 8 + size_of(leaf);
    bytes += static_cast<std::size_t>(32 * RangeProofSize(span.begin, span.end, *size));
  }
  return bytes;
}

struct BodySize {
  const Terms& terms;
  bool most;  // what may be read rather than what is true

  std::size_t operator()(const CommitQuestion&) const { return 32; }
  std::size_t operator()(const ExpandQuestion& q) const {
    if (most || q.span.begin >= q.span.end) return std::size_t{32} << kExpandLevels;
    return 32 * Frontier(q.span, kExpandLevels).size();
  }
  std::size_t operator()(const LeavesQuestion& q) const {
    if (q.tree.kind == TreeKind::kRoundingLog) {  // as long as its run made it
      std::size_t bytes = 0;
      for (const LeafSpan& span : q.spans)
        bytes += static_cast<std::size_t>(std::min(span.size(), kMany)) * (8 + kLeafBytes) + kProof;
      return bytes;
    }
    if (!most) return LeavesBody(terms, q, [&](std::uint64_t leaf) { return LeafBytes(terms, q.tree, leaf); });
    return LeavesBody(terms, q, [&, limit = MaxLeafBytes(terms, q)](std::uint64_t) { return limit; });
  }
  std::size_t operator()(const SamplesQuestion& q) const {
    const auto samples = static_cast<std::size_t>(std::min(q.end - q.begin, kMany));
    const std::size_t arrays = TrainsOnArrays(terms.job()) ? 2 : 1;
    const std::size_t runs = arrays * (8 + 4 + kProof) + static_cast<std::size_t>(MaxSourceBytes(terms.job()));
    return 8 + kDescriptor + arrays * (32 + 4) + samples * runs;
  }
  std::size_t operator()(const PartsQuestion&) const { return std::size_t{4} * ref::kMaxParts; }
};

}  // namespace

std::size_t LeafBytes(const Terms& terms, const TreeName& tree, std::uint64_t leaf) {
  if (tree.kind == TreeKind::kRoundingLog) return kLeafBytes;
  const Result<std::uint64_t> size = terms.TreeSize(tree);
  if (!size || leaf >= *size) return 0;
  const auto index = static_cast<std::size_t>(leaf);
  switch (tree.kind) {
    case TreeKind::kLog: return EntryBytesOf(terms);
    case TreeKind::kBatches: return Digest{}.bytes.size();
    case TreeKind::kRoundings: return kRoundingLeaf;
    case TreeKind::kStates: return Encode(StepRecord{}).size();
    case TreeKind::kTrace: return terms.index().RecordBytes(index);
    case TreeKind::kState: return terms.StateEntry(index, {}).size();
    case TreeKind::kBatch: return terms.BatchEntry(index, {}).size();
    case TreeKind::kWeights: return terms.WeightEntry(index, {}).size();
    case TreeKind::kStateTensor:
    case TreeKind::kBatchField:
    case TreeKind::kInput:
    case TreeKind::kOutput: return BlockBytes(*terms.TensorOf(tree), leaf);
    case TreeKind::kRoundingLog: break;
  }
  return 0;
}

std::size_t MaxLeafBytes(const Terms& terms, const LeavesQuestion& question) {
  std::size_t most = kLeafBytes;
  const bool records = question.tree.kind == TreeKind::kTrace || question.tree.kind == TreeKind::kState ||
                       question.tree.kind == TreeKind::kBatch || question.tree.kind == TreeKind::kWeights;
  if (!records) return most;  // all others are shorter
  for (const LeafSpan& span : question.spans) {
    for (std::uint64_t leaf = span.begin; leaf < span.end && leaf - span.begin < kMaxLeavesAsked; ++leaf) {
      most = std::max(most, LeafBytes(terms, question.tree, leaf));
    }
  }
  return most;
}

std::size_t TrueBodyBytes(const Terms& terms, const Question& question) { return std::visit(BodySize{terms, false}, question); }

std::size_t MaxBodyBytes(const Terms& terms, const Question& question) {
  return std::min(kMaxBodyBytes, std::visit(BodySize{terms, true}, question));
}

std::size_t MaxAnswerBytes(const Terms& terms, const Question& question) {
  return std::min(kMaxAnswerBytes, MaxBodyBytes(terms, question) + kFrame);
}

}  // namespace assay::dispute
