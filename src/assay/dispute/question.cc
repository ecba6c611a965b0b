#include "assay/dispute/question.h"

#include <algorithm>

namespace assay::dispute {
namespace {

constexpr std::string_view kTag = "assay/question/2";

enum class Kind : std::uint8_t { kCommit = 1, kExpand = 2, kLeaves = 3, kSamples = 4, kParts = 5 };

void WriteTree(const TreeName& tree, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(tree.kind));
  out.I64(tree.at);
  out.U32(tree.node);
  out.U32(tree.index);
}

Result<TreeName> ReadTree(ByteReader& in) {
  TreeName tree;
  ASSAY_ASSIGN(const std::uint8_t kind, in.U8());
  if (kind < static_cast<std::uint8_t>(TreeKind::kLog) || kind > static_cast<std::uint8_t>(TreeKind::kRoundingLog)) {
    return Err("question: no kind of tree has the number {}", kind);
  }
  tree.kind = static_cast<TreeKind>(kind);
  ASSAY_ASSIGN(tree.at, in.I64());
  ASSAY_ASSIGN(tree.node, in.U32());
  ASSAY_ASSIGN(tree.index, in.U32());
  return tree;
}

void WriteSpan(const LeafSpan& span, ByteWriter& out) {
  out.U64(span.begin);
  out.U64(span.end);
}

Result<LeafSpan> ReadSpan(ByteReader& in) {
  LeafSpan span;
  ASSAY_ASSIGN(span.begin, in.U64());
  ASSAY_ASSIGN(span.end, in.U64());
  if (span.begin >= span.end) return Err("question: expected leaves, got {} .. {}", span.begin, span.end);
  return span;
}

struct Writer {
  ByteWriter& out;
  void Begin(Kind kind) { out.U8(static_cast<std::uint8_t>(kind)); }
  void operator()(const CommitQuestion& q) {
    Begin(Kind::kCommit);
    WriteTree(q.tree, out);
  }
  void operator()(const ExpandQuestion& q) {
    Begin(Kind::kExpand);
    WriteTree(q.tree, out);
    WriteSpan(q.span, out);
  }
  void operator()(const LeavesQuestion& q) {
    Begin(Kind::kLeaves);
    WriteTree(q.tree, out);
    out.U32(static_cast<std::uint32_t>(q.spans.size()));
    for (const LeafSpan& span : q.spans) WriteSpan(span, out);
  }
  void operator()(const SamplesQuestion& q) {
    Begin(Kind::kSamples);
    out.I64(q.step);
    WriteSpan({q.begin, q.end}, out);
  }
  void operator()(const PartsQuestion& q) {
    Begin(Kind::kParts);
    out.I64(q.step);
    out.U32(q.node);
    out.U32(q.output);
    out.I64(q.element);
    out.U32(static_cast<std::uint32_t>(q.path.size()));
    for (const std::uint32_t part : q.path) out.U32(part);
  }
};

Result<Question> ReadLeavesQuestion(ByteReader& in) {
  LeavesQuestion q;
  ASSAY_ASSIGN(q.tree, ReadTree(in));
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (count == 0 || count > kMaxSpans) return Err("question: expected 1 .. {} spans, got {}", kMaxSpans, count);
  std::uint64_t leaves = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSAY_ASSIGN(const LeafSpan span, ReadSpan(in));
    if (!q.spans.empty() && span.begin <= q.spans.back().end) return Err("question: spans are not ascending and apart");
    if (span.size() > kMaxLeavesAsked || (leaves += span.size()) > kMaxLeavesAsked) {
      return Err("question: expected at most {} leaves", kMaxLeavesAsked);
    }
    q.spans.push_back(span);
  }
  return q;
}

Result<Question> ReadSamplesQuestion(ByteReader& in) {
  SamplesQuestion q;
  ASSAY_ASSIGN(q.step, in.I64());
  ASSAY_ASSIGN(const LeafSpan span, ReadSpan(in));
  q.begin = span.begin;
  q.end = span.end;
  return q;
}

Result<Question> ReadPartsQuestion(ByteReader& in) {
  PartsQuestion q;
  ASSAY_ASSIGN(q.step, in.I64());
  ASSAY_ASSIGN(q.node, in.U32());
  ASSAY_ASSIGN(q.output, in.U32());
  ASSAY_ASSIGN(q.element, in.I64());
  ASSAY_ASSIGN(const std::uint32_t depth, in.U32());
  if (depth > kMaxPath) return Err("question: expected a path of at most {} parts, got {}", kMaxPath, depth);
  for (std::uint32_t i = 0; i < depth; ++i) {
    ASSAY_ASSIGN(const std::uint32_t part, in.U32());
    q.path.push_back(part);
  }
  return q;
}

Result<Question> ReadKind(ByteReader& in) {
  ASSAY_ASSIGN(const std::uint8_t kind, in.U8());
  switch (static_cast<Kind>(kind)) {
    case Kind::kCommit: {
      ASSAY_ASSIGN(const TreeName tree, ReadTree(in));
      return CommitQuestion{tree};
    }
    case Kind::kExpand: {
      ASSAY_ASSIGN(const TreeName tree, ReadTree(in));
      ASSAY_ASSIGN(const LeafSpan span, ReadSpan(in));
      return ExpandQuestion{tree, span};
    }
    case Kind::kLeaves: return ReadLeavesQuestion(in);
    case Kind::kSamples: return ReadSamplesQuestion(in);
    case Kind::kParts: return ReadPartsQuestion(in);
  }
  return Err("question: no kind of question has the number {}", kind);
}

std::string DescribeTree(const TreeName& tree) {
  switch (tree.kind) {
    case TreeKind::kLog: return "the log";
    case TreeKind::kBatches: return fmt::format("the batch roots of entry {}", tree.at);
    case TreeKind::kStates: return fmt::format("the states up to entry {}", tree.at);
    case TreeKind::kTrace: return fmt::format("the trace of step {}", tree.at);
    case TreeKind::kState: return tree.at == 0 ? "the starting state" : fmt::format("the state after step {}", tree.at);
    case TreeKind::kStateTensor:
      return fmt::format("tensor {} of the {}", tree.index,
                         tree.at == 0 ? "starting state" : fmt::format("state after step {}", tree.at));
    case TreeKind::kBatch: return fmt::format("the batch of step {}", tree.at);
    case TreeKind::kBatchField: return fmt::format("field {} of the batch of step {}", tree.index, tree.at);
    case TreeKind::kInput: return fmt::format("input {} of node {} of step {}", tree.index, tree.node, tree.at);
    case TreeKind::kOutput: return fmt::format("output {} of node {} of step {}", tree.index, tree.node, tree.at);
    case TreeKind::kRoundings: return fmt::format("the rounding logs of entry {}", tree.at);
    case TreeKind::kWeights: return "the delivered weights";
    case TreeKind::kRoundingLog: return fmt::format("the rounding log of step {}", tree.at);
  }
  return "nothing";
}

struct Describer {
  std::string operator()(const CommitQuestion& q) { return fmt::format("the root of {}", DescribeTree(q.tree)); }
  std::string operator()(const ExpandQuestion& q) {
    return fmt::format("hashes over leaves {}..{} of {}", q.span.begin, q.span.end - 1, DescribeTree(q.tree));
  }
  std::string operator()(const LeavesQuestion& q) {
    std::string spans;
    for (const LeafSpan& span : q.spans) {
      spans += spans.empty() ? "" : ", ";
      spans += span.size() == 1 ? std::to_string(span.begin) : fmt::format("{}..{}", span.begin, span.end - 1);
    }
    return fmt::format("leaves {} of {}", spans, DescribeTree(q.tree));
  }
  std::string operator()(const SamplesQuestion& q) {
    return fmt::format("the data of samples {}..{} of step {}", q.begin, q.end - 1, q.step);
  }
  std::string operator()(const PartsQuestion& q) {
    std::string path;
    for (const std::uint32_t part : q.path) path += fmt::format(".{}", part);
    return fmt::format("the parts of value {}{} of output {} of node {} of step {}", q.element, path, q.output, q.node, q.step);
  }
};

}  // namespace

bool ProvesItself(const Question& question) {
  return !std::holds_alternative<CommitQuestion>(question) && !std::holds_alternative<PartsQuestion>(question);
}

Bytes Encode(const Digest& dispute, const Question& question) {
  ByteWriter out;
  out.String(kTag);
  out.Raw(dispute.bytes);
  std::visit(Writer{out}, question);
  return out.Take();
}

Result<AddressedQuestion> DecodeQuestion(ByteSpan bytes) {
  if (bytes.size() > kMaxQuestionBytes)
    return Err("question: expected at most {} bytes, got {}", kMaxQuestionBytes, bytes.size());
  ByteReader in(bytes, "question");
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("question: expected {}", kTag);
  AddressedQuestion addressed;
  ASSAY_ASSIGN(const ByteSpan dispute, in.Raw(32));
  std::copy(dispute.begin(), dispute.end(), addressed.dispute.bytes.begin());
  ASSAY_ASSIGN(addressed.question, ReadKind(in));
  ASSAY_TRY(in.End());
  return addressed;
}

std::string Describe(const Question& question) { return std::visit(Describer{}, question); }

}  // namespace assay::dispute
