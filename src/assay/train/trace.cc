#include "assay/train/trace.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/exec/step_nodes.h"
#include "assay/merkle/tree.h"
#include "assay/run/snapshot.h"

namespace assay {
namespace {

constexpr std::string_view kTag = "assay/trace/1";
constexpr std::string_view kDomain = "assay/trace-signature/1\n";
constexpr std::size_t kSmallestNode = 1;  // a node without outputs is one byte

std::vector<Digest> LeafHashes(ByteSpan content, ThreadPool& pool) {
  std::vector<Digest> leaves(CountLeaves(content.size()));
  pool.ParallelFor(static_cast<std::int64_t>(leaves.size()), 16, [&](std::int64_t begin, std::int64_t end, int) {
    const std::size_t first = static_cast<std::size_t>(begin), count = static_cast<std::size_t>(end - begin);
    const std::size_t at = first * kLeafBytes;
    HashLeaves(content.subspan(at, std::min(count * kLeafBytes, content.size() - at)), std::span(leaves).subspan(first, count));
  });
  return leaves;
}

Bytes MessageOf(ByteSpan body) {
  ByteWriter out;
  out.Raw(AsBytes(kDomain));
  out.Raw(HashBytes(body).bytes);
  return out.Take();
}

Result<Digest> ReadDigest(ByteReader& in) {
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(32));
  Digest digest;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

Result<TraceOutput> ReadOutput(ByteReader& in, std::string_view what) {
  TraceOutput output;
  ASSAY_ASSIGN(output.bytes, in.U64());
  const std::uint64_t leaves = CountLeaves(output.bytes);
  if (leaves > in.remaining() / 32) return Err("{}: names an output of {} bytes without its hashes", what, output.bytes);
  output.leaves.reserve(leaves);
  for (std::uint64_t i = 0; i < leaves; ++i) {
    ASSAY_ASSIGN(const Digest leaf, ReadDigest(in));
    output.leaves.push_back(leaf);
  }
  return output;
}

Bytes EncodeBody(const Trace& trace) {
  ByteWriter out;
  out.String(kTag);
  out.Raw(trace.trajectory.bytes);
  out.I64(trace.step);
  out.Raw(trace.before.bytes);
  out.Raw(trace.after.bytes);
  out.U32(static_cast<std::uint32_t>(trace.nodes.size()));
  for (const std::vector<TraceOutput>& node : trace.nodes) {
    out.U8(static_cast<std::uint8_t>(node.size()));
    for (const TraceOutput& output : node) {
      out.U64(output.bytes);
      for (const Digest& leaf : output.leaves) out.Raw(leaf.bytes);
    }
  }
  return out.Take();
}

}  // namespace

Bytes SignTrace(const Trace& trace, const SigningKey& key) {
  const Bytes body = EncodeBody(trace);
  ByteWriter out;
  out.Raw(body);
  out.String(key.verify_key().id());
  out.Raw(key.Sign(MessageOf(body)));
  return out.Take();
}

Result<Trace> OpenTrace(ByteSpan file, const VerifyKey& key, std::string_view what) {
  ByteReader in(file, what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: expected a trace ({})", what, kTag);
  Trace trace;
  ASSAY_ASSIGN(trace.trajectory, ReadDigest(in));
  ASSAY_ASSIGN(trace.step, in.I64());
  ASSAY_ASSIGN(trace.before, ReadDigest(in));
  ASSAY_ASSIGN(trace.after, ReadDigest(in));
  ASSAY_ASSIGN(const std::uint32_t nodes, in.U32());
  if (nodes > in.remaining() / kSmallestNode) return Err("{}: says {} nodes, which do not fit", what, nodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    ASSAY_ASSIGN(const std::uint8_t outputs, in.U8());
    std::vector<TraceOutput>& node = trace.nodes.emplace_back();
    for (std::uint8_t k = 0; k < outputs; ++k) {
      ASSAY_ASSIGN(TraceOutput output, ReadOutput(in, what));
      node.push_back(std::move(output));
    }
  }
  const ByteSpan body = file.first(file.size() - in.remaining());
  ASSAY_ASSIGN(const std::string signer, in.String());
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(std::tuple_size_v<Signature>));
  ASSAY_TRY(in.End());
  Signature signature;
  std::copy(bytes.begin(), bytes.end(), signature.begin());
  if (signer != key.id() || !key.Verify(MessageOf(body), signature)) return Err("{}: is not signed by {}", what, key.id());
  return trace;
}

TraceRecorder::TraceRecorder(const Program& program, ThreadPool& pool) : pool_(pool) {
  const StepNodes nodes(program);
  for (std::size_t n = 0; n < nodes.size(); ++n) types_.push_back(nodes.OutputTypes(n));
  nodes_.resize(nodes.size());
}

TraceSink TraceRecorder::sink() {
  return [this](std::size_t node, std::span<const void* const> outputs) { Record(node, outputs); };
}

void TraceRecorder::Record(std::size_t node, std::span<const void* const> outputs) {
  ASSAY_CHECK(node < nodes_.size() && outputs.size() == types_[node].size());
  std::vector<TraceOutput>& recorded = nodes_[node];
  recorded.clear();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::size_t bytes = types_[node][k].bytes();
    const ByteSpan content(static_cast<const std::uint8_t*>(outputs[k]), bytes);
    recorded.push_back({.bytes = bytes, .leaves = LeafHashes(content, pool_)});
  }
}

Trace TraceStep(Stepper& stepper, State& state, std::int64_t step, ThreadPool& pool) {
  const PreparedJob& prepared = stepper.prepared();
  Trace trace{.trajectory = prepared.identity.trajectory, .step = step + 1};
  trace.before = StateRootOf(prepared.program.state, state, pool);
  TraceRecorder recorder(prepared.program, pool);
  stepper.RunTraced(state, stepper.Plan(step), recorder.sink());
  trace.after = StateRootOf(prepared.program.state, state, pool);
  trace.nodes = recorder.Take();
  return trace;
}

std::optional<TraceDifference> FirstDifference(const Trace& a, const Trace& b) {
  const std::size_t nodes = std::max(a.nodes.size(), b.nodes.size());
  for (std::size_t n = 0; n < nodes; ++n) {
    if (n >= a.nodes.size() || n >= b.nodes.size() || a.nodes[n].size() != b.nodes[n].size()) return TraceDifference{n, 0, 0};
    for (std::size_t k = 0; k < a.nodes[n].size(); ++k) {
      const TraceOutput &x = a.nodes[n][k], &y = b.nodes[n][k];
      if (x == y) continue;
      const auto [at, other] = std::ranges::mismatch(x.leaves, y.leaves);
      return TraceDifference{n, k, static_cast<std::size_t>(at - x.leaves.begin())};
    }
  }
  return std::nullopt;
}

}  // namespace assay
