#include "assay/dispute/leaf_records.h"

#include <algorithm>

namespace assay::dispute {
namespace {

constexpr std::string_view kStepTag = "assay/step/1";
constexpr std::string_view kNodeTag = "assay/node/1";

Result<Digest> ReadDigest(ByteReader& in) {
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(32));
  Digest digest;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

Status ReadTag(ByteReader& in, std::string_view tag) {
  ASSAY_ASSIGN(const std::string found, in.String());
  if (found != tag) return Err("expected a record {}", tag);
  return {};
}

}  // namespace

Bytes Encode(const StepRecord& record) {
  ByteWriter out;
  out.String(kStepTag);
  out.I64(record.step);
  out.Raw(record.state_root.bytes);
  out.U32(record.loss_bits);
  return out.Take();
}

Result<StepRecord> DecodeStepRecord(ByteSpan bytes) {
  ByteReader in(bytes, "record of a step");
  ASSAY_TRY(ReadTag(in, kStepTag));
  StepRecord record;
  ASSAY_ASSIGN(record.step, in.I64());
  ASSAY_ASSIGN(record.state_root, ReadDigest(in));
  ASSAY_ASSIGN(record.loss_bits, in.U32());
  ASSAY_TRY(in.End());
  return record;
}

Bytes Encode(const NodeRecord& record) {
  ByteWriter out;
  out.String(kNodeTag);
  out.U32(record.node);
  out.U16(record.op);
  out.U16(record.version);
  out.Blob(record.attrs);
  out.U32(static_cast<std::uint32_t>(record.inputs.size()));
  for (const Digest& root : record.inputs) out.Raw(root.bytes);
  out.U32(static_cast<std::uint32_t>(record.outputs.size()));
  for (const NodeRecord::Output& output : record.outputs) {
    out.U64(output.bytes);
    out.Raw(output.root.bytes);
  }
  return out.Take();
}

Result<NodeRecord> DecodeNodeRecord(ByteSpan bytes) {
  ByteReader in(bytes, "record of a node");
  ASSAY_TRY(ReadTag(in, kNodeTag));
  NodeRecord record;
  ASSAY_ASSIGN(record.node, in.U32());
  ASSAY_ASSIGN(record.op, in.U16());
  ASSAY_ASSIGN(record.version, in.U16());
  ASSAY_ASSIGN(record.attrs, in.Blob());
  ASSAY_ASSIGN(const std::uint32_t inputs, in.U32());
  if (inputs > in.remaining() / 32) return Err("record of a node: has too few bytes for {} inputs", inputs);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    ASSAY_ASSIGN(const Digest root, ReadDigest(in));
    record.inputs.push_back(root);
  }
  ASSAY_ASSIGN(const std::uint32_t outputs, in.U32());
  if (outputs > in.remaining() / 40) return Err("record of a node: has too few bytes for {} outputs", outputs);
  for (std::uint32_t i = 0; i < outputs; ++i) {
    NodeRecord::Output output;
    ASSAY_ASSIGN(output.bytes, in.U64());
    ASSAY_ASSIGN(output.root, ReadDigest(in));
    record.outputs.push_back(output);
  }
  ASSAY_TRY(in.End());
  return record;
}

NodeRecord BlankRecord(const StepNodes& nodes, std::size_t node) {
  const OpInstance op = nodes.Instance(node);
  NodeRecord record{.node = static_cast<std::uint32_t>(node), .op = op.def->wire_id, .version = op.def->version};
  ByteWriter attrs;
  Encode(op.attrs, attrs);
  record.attrs = attrs.Take();
  record.inputs.resize(op.in.size());
  for (const TensorType& type : op.out) record.outputs.push_back({.bytes = type.bytes()});
  return record;
}

}  // namespace assay::dispute
