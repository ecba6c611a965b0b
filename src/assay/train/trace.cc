#include "assay/train/trace.h"

#include <algorithm>
#include <utility>

#include "assay/base/check.h"
#include "assay/exec/step_nodes.h"
#include "assay/merkle/tree.h"
#include "assay/run/snapshot.h"

namespace assay {
namespace {

constexpr std::string_view kTag = "assay/trace/1";
constexpr std::string_view kDomain = "assay/trace-signature/1\n";

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

// The nodes' outputs, as the program has them.
std::vector<std::vector<TensorType>> OutputTypesOf(const Program& program) {
  const StepNodes nodes(program);
  std::vector<std::vector<TensorType>> types;
  types.reserve(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) types.push_back(nodes.OutputTypes(n));
  return types;
}

// Tag, trajectory, step, two roots and the number of nodes; then the nodes.
std::size_t BodyBytes(const std::vector<std::vector<TensorType>>& types) {
  std::size_t bytes = 4 + kTag.size() + 32 + 8 + 32 + 32 + 4;
  for (const auto& outputs : types) {
    ++bytes;
    for (const TensorType& type : outputs) bytes += 8 + 32 * CountLeaves(type.bytes());
  }
  return bytes;
}

Result<TraceOutput> ReadOutput(ByteReader& in, const TensorType& type, std::string_view what) {
  TraceOutput output;
  ASSAY_ASSIGN(output.bytes, in.U64());
  if (output.bytes != type.bytes()) return Err("{}: has an output of {} bytes, expected {}", what, output.bytes, type.bytes());
  output.leaves.reserve(CountLeaves(output.bytes));
  for (std::size_t i = 0; i < CountLeaves(output.bytes); ++i) {
    ASSAY_ASSIGN(const Digest leaf, ReadDigest(in));
    output.leaves.push_back(leaf);
  }
  return output;
}

Status CheckSignature(ByteSpan body, ByteSpan tail, const VerifyKey& key, std::string_view what) {
  ByteReader in(tail, what);
  ASSAY_ASSIGN(const std::string signer, in.String());
  ASSAY_ASSIGN(const ByteSpan bytes, in.Raw(std::tuple_size_v<Signature>));
  ASSAY_TRY(in.End());
  Signature signature;
  std::copy(bytes.begin(), bytes.end(), signature.begin());
  if (signer != key.id() || !key.Verify(MessageOf(body), signature)) return Err("{}: is not signed by {}", what, key.id());
  return {};
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

Result<Trace> OpenTrace(ByteSpan file, const VerifyKey& key, const Program& program, std::string_view what) {
  const std::vector<std::vector<TensorType>> types = OutputTypesOf(program);
  const std::size_t size = BodyBytes(types), tail = 4 + key.id().size() + std::tuple_size_v<Signature>;
  if (file.size() != size + tail)
    return Err("{}: has {} bytes, a trace of this program has {}", what, file.size(), size + tail);
  ASSAY_TRY(CheckSignature(file.first(size), file.subspan(size), key, what));
  ByteReader in(file.first(size), what);
  ASSAY_ASSIGN(const std::string tag, in.String());
  if (tag != kTag) return Err("{}: expected a trace ({})", what, kTag);
  Trace trace;
  ASSAY_ASSIGN(trace.trajectory, ReadDigest(in));
  ASSAY_ASSIGN(trace.step, in.I64());
  ASSAY_ASSIGN(trace.before, ReadDigest(in));
  ASSAY_ASSIGN(trace.after, ReadDigest(in));
  ASSAY_ASSIGN(const std::uint32_t count, in.U32());
  if (count != types.size()) return Err("{}: has {} nodes, the program has {}", what, count, types.size());
  for (const auto& outputs : types) {
    ASSAY_ASSIGN(const std::uint8_t number, in.U8());
    if (number != outputs.size()) return Err("{}: has a node with {} outputs, expected {}", what, number, outputs.size());
    std::vector<TraceOutput>& node = trace.nodes.emplace_back();
    for (const TensorType& type : outputs) {
      ASSAY_ASSIGN(TraceOutput output, ReadOutput(in, type, what));
      node.push_back(std::move(output));
    }
  }
  ASSAY_TRY(in.End());
  return trace;
}

Result<TraceSummary> SummarizeTrace(ByteSpan file, const VerifyKey& key, const Program& program, std::string_view what) {
  ASSAY_ASSIGN(const Trace trace, OpenTrace(file, key, program, what));
  return TraceSummary{.trajectory = trace.trajectory, .step = trace.step, .before = trace.before, .after = trace.after};
}

TraceRecorder::TraceRecorder(const Program& program, Backend& backend) : types_(OutputTypesOf(program)), backend_(backend) {
  at_once_.resize(types_.size());
  if (backend_.AsHost() == nullptr) static_cast<void>(backend_.TakeLeafHashes());  // what a step that failed may have left
}

TraceSink TraceRecorder::sink() {
  return [this](std::size_t node, std::span<const void* const> outputs) { Record(node, outputs); };
}

// On a device the hashes are fetched many nodes at a time: waiting for each would take longer than computing it.
void TraceRecorder::Record(std::size_t node, std::span<const void* const> outputs) {
  ASSAY_CHECK(node < types_.size() && outputs.size() == types_[node].size());
  if (backend_.AsHost() != nullptr) {
    std::vector<TraceOutput>& now = at_once_[node];
    now.clear();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const ByteSpan content(static_cast<const std::uint8_t*>(outputs[k]), types_[node][k].bytes());
      TraceOutput output{.bytes = content.size(), .leaves = std::vector<Digest>(CountLeaves(content.size()))};
      HashLeaves(content, output.leaves);
      now.push_back(std::move(output));
    }
    return;
  }
  recorded_.push_back(node);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    backend_.QueueLeafHashes({static_cast<const std::uint8_t*>(outputs[k]), types_[node][k].bytes()});
  }
}

std::vector<std::vector<TraceOutput>> TraceRecorder::Take() {
  if (backend_.AsHost() != nullptr) return std::exchange(at_once_, std::vector<std::vector<TraceOutput>>(types_.size()));
  const std::vector<Digest> leaves = backend_.TakeLeafHashes();
  std::vector<std::vector<TraceOutput>> nodes(types_.size());
  auto next = leaves.begin();
  for (const std::size_t node : recorded_) {
    nodes[node].clear();
    for (const TensorType& type : types_[node]) {
      const auto end = next + static_cast<std::ptrdiff_t>(CountLeaves(type.bytes()));
      nodes[node].push_back({.bytes = type.bytes(), .leaves = {next, end}});
      next = end;
    }
  }
  ASSAY_CHECK(next == leaves.end());
  recorded_.clear();
  return nodes;
}

Trace TraceStep(Stepper& stepper, State& state, std::int64_t step) {
  const PreparedJob& prepared = stepper.prepared();
  Trace trace{.trajectory = prepared.identity.trajectory, .step = step + 1};
  trace.before = StateRootOf(prepared.program.state, state, stepper.backend());
  TraceRecorder recorder(prepared.program, stepper.backend());
  stepper.RunTraced(state, stepper.Plan(step), recorder.sink());
  trace.after = StateRootOf(prepared.program.state, state, stepper.backend());
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
