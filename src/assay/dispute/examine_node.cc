// Inside one step: to the first node whose record differs, and what about it does.
#include <algorithm>
#include <cstring>

#include "assay/base/check.h"
#include "assay/dispute/proceedings.h"
#include "assay/job/learning_rate.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

template <class T>
Bytes RawBytes(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

bool IsScalar(const InputSource& source) {
  return source.kind == InputSource::Kind::kLr || source.kind == InputSource::Kind::kStep ||
         source.kind == InputSource::Kind::kRng;
}

TreeName TraceTree(const DisputedStep& step) { return {.kind = TreeKind::kTrace, .at = step.step}; }

Digest LastDigest(const Bytes& entry) {
  Digest digest;
  std::copy(entry.end() - static_cast<std::ptrdiff_t>(digest.bytes.size()), entry.end(), digest.bytes.begin());
  return digest;
}

// The record as the program would have it, with this record's roots.
bool HasStructure(const NodeRecord& record, const NodeRecord& blank) {
  NodeRecord stripped = record;
  std::ranges::fill(stripped.inputs, Digest{});
  for (NodeRecord::Output& output : stripped.outputs) output.root = Digest{};
  return stripped == blank;
}

}  // namespace

std::string DescribeSource(const Terms& terms, const InputSource& source) {
  switch (source.kind) {
    case InputSource::Kind::kState: return fmt::format("the state's {}", terms.program().state[source.index].name);
    case InputSource::Kind::kBatch:
      return fmt::format("the batch's {}", terms.program().micro.inputs()[source.index].name.substr(6));
    case InputSource::Kind::kRng: return "the random draws' key";
    case InputSource::Kind::kLr: return "the learning rate";
    case InputSource::Kind::kStep: return "the step's number";
    case InputSource::Kind::kNode: return fmt::format("output {} of node {}", source.index, source.node);
  }
  return "nothing";
}

Step<void> Proceedings::ExamineStep(const DisputedStep& step) {
  const TreeName tree = TraceTree(step);
  Show("nodes", fmt::format("step {}, nodes 0..{} of {}", step.step, SizeOf(tree) - 1, SizeOf(tree)));
  ASSAY_ASSIGN(const auto roots, ReadBoth(CommitQuestion{tree}, [](Party, ByteSpan body) -> Result<Digest> {
                 ASSAY_ASSIGN(const Hashes hashes, ReadHashes(body, 1));
                 return hashes.front();
               }));
  if (roots[0] == roots[1]) {
    Step<void> ended = ExamineResult(step, roots[0]);
    return tl::unexpected(AfterAgreedNodes(step, std::move(ended).error()));
  }
  ASSAY_ASSIGN(const Difference at, Descend(tree, roots));
  return ExamineNode(step, static_cast<std::uint32_t>(at.leaf), roots);
}

// The first node whose records differ: all before it are agreed.
Step<void> Proceedings::ExamineNode(const DisputedStep& step, std::uint32_t node, const Both<Digest>& traces) {
  const StepNodes& nodes = terms_.nodes();
  Show("nodes", fmt::format("step {}, node {} of {}: {}", step.step, node, nodes.size(), nodes.Describe(node)));
  ASSAY_ASSIGN(const Both<Bytes> leaves, OpenBoth(TraceTree(step), node, traces));
  const NodeRecord blank = BlankRecord(nodes, node);
  Both<Result<NodeRecord>> records{DecodeNodeRecord(leaves[0]), DecodeNodeRecord(leaves[1])};
  const Both<bool> good{records[0] && HasStructure(*records[0], blank), records[1] && HasStructure(*records[1], blank)};
  if (!good[0] || !good[1]) {
    Finding finding{.cause = Cause::kStructure, .step = step.step, .node = node, .node_name = nodes.Describe(node)};
    finding.reason = fmt::format("step {}: node {} is not the program's {}", step.step, node, finding.node_name);
    return tl::unexpected(Convict(!good[0], !good[1], std::move(finding)));
  }
  for (std::size_t k = 0; k < blank.inputs.size(); ++k) {
    const Both<Digest> roots{records[0]->inputs[k], records[1]->inputs[k]};
    if (roots[0] != roots[1]) return ExamineInput(step, node, k, traces[0], roots);
  }
  for (std::size_t k = 0; k < blank.outputs.size(); ++k) {
    const Both<Digest> roots{records[0]->outputs[k].root, records[1]->outputs[k].root};
    if (roots[0] != roots[1]) return ExamineOutput(step, *records[0], k, roots);
  }
  ASSAY_CHECK(false);  // their leaves differ and have one encoding
  return {};
}

Step<NodeRecord> Proceedings::AgreedRecord(const DisputedStep& step, std::size_t node, const Digest& trace) {
  const std::uint64_t leaf[] = {node};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed(TraceTree(step), leaf, trace));
  Result<NodeRecord> record = DecodeNodeRecord(opened.front());
  if (record && HasStructure(*record, BlankRecord(terms_.nodes(), node))) return *record;
  Finding finding{.cause = Cause::kStructure, .step = step.step, .node = static_cast<std::uint32_t>(node)};
  finding.reason = fmt::format("step {}: both agree on a node {} that is not the program's", step.step, node);
  return tl::unexpected(Convict(true, true, std::move(finding)));
}

Step<Digest> Proceedings::AgreedStateRoot(const DisputedStep& step, std::size_t tensor) {
  const std::uint64_t leaf[] = {tensor};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed({.kind = TreeKind::kState, .at = step.step - 1}, leaf, step.before));
  if (opened.front().size() >= 32 && opened.front() == terms_.StateEntry(tensor, LastDigest(opened.front()))) {
    return LastDigest(opened.front());
  }
  Finding finding{
      .cause = Cause::kStructure, .reason = "both agree on a state that is not of the job's tensors", .step = step.step};
  return tl::unexpected(Convict(true, true, std::move(finding)));
}

Step<Digest> Proceedings::AgreedFieldRoot(const DisputedStep& step, std::size_t field) {
  const std::uint64_t leaf[] = {field};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed({.kind = TreeKind::kBatch, .at = step.step}, leaf, step.batch));
  if (opened.front().size() >= 32 && opened.front() == terms_.BatchEntry(field, LastDigest(opened.front()))) {
    return LastDigest(opened.front());
  }
  Finding finding{.cause = Cause::kBatch, .reason = "both agree on a batch that is not of the job's fields", .step = step.step};
  return tl::unexpected(Convict(true, true, std::move(finding)));
}

// The root of what both agree a source to be, or what the job says it is.
Step<Digest> Proceedings::AgreedRoot(const DisputedStep& step, const InputSource& source, const Digest& trace) {
  switch (source.kind) {
    case InputSource::Kind::kNode: {
      ASSAY_ASSIGN(const NodeRecord record, AgreedRecord(step, source.node, trace));
      return record.outputs[source.index].root;
    }
    case InputSource::Kind::kState: return AgreedStateRoot(step, source.index);
    case InputSource::Kind::kBatch:
      return tl::unexpected(Halt(Undecided{"the job's program hands its batch on unchanged, which is not examined"}));
    default: return TensorRoot(ScalarOf(step, source));
  }
}

// What the job gives a node beside tensors: the key of its random draws, the learning rate, the step's number.
Bytes Proceedings::ScalarOf(const DisputedStep& step, const InputSource& source) const {
  const std::uint64_t seed = terms_.job().seed;
  if (source.kind == InputSource::Kind::kLr) return RawBytes(LearningRate(terms_.job().schedule, step.step - 1));
  if (source.kind == InputSource::Kind::kStep) return RawBytes(step.step);
  return RawBytes(std::array<std::uint32_t, 4>{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                                               static_cast<std::uint32_t>(step.step - 1),
                                               static_cast<std::uint32_t>(source.microbatch)});
}

// The parties ran the node on different things; what it should have been run on is agreed or known.
Step<void> Proceedings::ExamineInput(const DisputedStep& step, std::uint32_t node, std::size_t input, const Digest& trace,
                                     const Both<Digest>& roots) {
  const InputSource source = terms_.nodes().Sources(node)[input];
  if (source.kind == InputSource::Kind::kBatch) return ExamineBatchInput(step, node, input, source, roots);
  if (IsScalar(source)) return ExamineScalarInput(step, node, input, source, roots);
  ASSAY_ASSIGN(const Digest right, AgreedRoot(step, source, trace));
  Finding finding{.cause = Cause::kInput, .step = step.step, .node = node, .node_name = terms_.nodes().Describe(node)};
  finding.index = static_cast<std::uint32_t>(input);
  finding.said[0] = roots[0].hex();
  finding.said[1] = roots[1].hex();
  finding.truth = right.hex();
  finding.reason = fmt::format("step {}: node {} ({}) was run on something else than {}", step.step, node, finding.node_name,
                               DescribeSource(terms_, source));
  return tl::unexpected(Convict(roots, right, std::move(finding)));
}

// Both show what they used, so that the verdict can say it.
Step<void> Proceedings::ExamineScalarInput(const DisputedStep& step, std::uint32_t node, std::size_t input,
                                           const InputSource& source, const Both<Digest>& roots) {
  const TreeName tree{.kind = TreeKind::kInput, .at = step.step, .node = node, .index = static_cast<std::uint32_t>(input)};
  ASSAY_ASSIGN(const Both<Bytes> said, OpenBoth(tree, 0, roots));
  const Bytes right = ScalarOf(step, source);
  const DType dtype = source.kind == InputSource::Kind::kLr ? DType::kF32 : DType::kU8;
  Finding finding{.cause = Cause::kInput, .step = step.step, .node = node, .node_name = terms_.nodes().Describe(node)};
  finding.index = tree.index;
  finding.leaf = 0;
  for (std::size_t p = 0; p < 2; ++p) finding.said[p] = ElementText(dtype, said[p]);
  finding.truth = ElementText(dtype, right);
  finding.reason = fmt::format("step {}: node {} ({}) was run on something else than {}", step.step, node, finding.node_name,
                               DescribeSource(terms_, source));
  if (source.kind == InputSource::Kind::kLr) {
    const auto rate = [](const Bytes& bytes) {
      float lr = 0;
      if (bytes.size() == sizeof lr) std::memcpy(&lr, bytes.data(), sizeof lr);
      return lr;
    };
    finding.reason = fmt::format("step {}: {} used lr {}, the job says {}", step.step, finding.node_name,
                                 rate(said[0] != right ? said[0] : said[1]), rate(right));
  }
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

// A batch input is the rows of one microbatch out of the whole batch: compared where it first differs.
Step<void> Proceedings::ExamineBatchInput(const DisputedStep& step, std::uint32_t node, std::size_t input,
                                          const InputSource& source, const Both<Digest>& roots) {
  const TreeName tree{.kind = TreeKind::kInput, .at = step.step, .node = node, .index = static_cast<std::uint32_t>(input)};
  const TensorType type = *terms_.TensorOf(tree);
  const auto field = static_cast<std::size_t>(std::ranges::find(terms_.fields(), source.index, &Terms::Field::micro_input) -
                                              terms_.fields().begin());
  Finding finding{.cause = Cause::kInput, .step = step.step, .node = node, .node_name = terms_.nodes().Describe(node)};
  finding.index = static_cast<std::uint32_t>(input);
  finding.reason = fmt::format("step {}: node {} ({}) was run on something else than {}", step.step, node, finding.node_name,
                               DescribeSource(terms_, source));
  ASSAY_ASSIGN(const Difference at, Descend(tree, roots));
  ASSAY_ASSIGN(const Both<Bytes> said, OpenBoth(tree, at.leaf, roots));
  ASSAY_ASSIGN(const Digest whole, AgreedFieldRoot(step, field));
  const std::uint64_t size = type.bytes(), first = static_cast<std::uint64_t>(source.microbatch) * size;
  const std::uint64_t begin = first + at.leaf * kLeafBytes,
                      end = first + std::min<std::uint64_t>((at.leaf + 1) * kLeafBytes, size);
  std::vector<std::uint64_t> leaves;
  for (std::uint64_t leaf = begin / kLeafBytes; leaf * kLeafBytes < end; ++leaf) leaves.push_back(leaf);
  const TreeName all{.kind = TreeKind::kBatchField, .at = step.step, .index = static_cast<std::uint32_t>(field)};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed(all, leaves, whole));
  Bytes joined;
  for (const Bytes& leaf : opened) joined.insert(joined.end(), leaf.begin(), leaf.end());
  const std::uint64_t offset = begin - leaves.front() * kLeafBytes;
  finding.leaf = at.leaf;
  Bytes right;
  if (offset + (end - begin) <= joined.size()) {
    right.assign(joined.begin() + static_cast<std::ptrdiff_t>(offset),
                 joined.begin() + static_cast<std::ptrdiff_t>(offset + (end - begin)));
  }
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

float Proceedings::RateOf(const DisputedStep& step) const { return LearningRate(terms_.job().schedule, step.step - 1); }

bool Proceedings::TakesRate(std::size_t node) const {
  return std::ranges::any_of(terms_.nodes().Sources(node),
                             [](const InputSource& source) { return source.kind == InputSource::Kind::kLr; });
}

// Who cannot show its state has agreed to every node that leads there: that is what people have to know about it.
Halt Proceedings::AfterAgreedNodes(const DisputedStep& step, Halt halt) const {
  auto* finding = std::get_if<Finding>(halt.next.get());
  if (finding == nullptr || finding->cause != Cause::kUnproven) return halt;
  const std::string after = fmt::format("cannot show the state that it committed to after step {}", step.step);
  if (finding->reason != after || finding->guilty[0] == finding->guilty[1]) {
    finding->reason = fmt::format("step {}: agrees on every node, and {}", step.step, finding->reason);
    return halt;
  }
  const VerifyKey &one = claims_[0]->signer, &other = claims_[1]->signer, &guilty = finding->guilty[0] ? one : other;
  const std::string name = one.name() == other.name() ? guilty.id() : guilty.name();
  finding->reason = fmt::format("step {}: {}'s own steps, run again, do not lead to the state that {} signed for after step {}",
                                step.step, name, name, step.step);
  return halt;
}

// All nodes are agreed: what was made of their outputs is not.
Step<void> Proceedings::ExamineResult(const DisputedStep& step, const Digest& trace) {
  if (step.after[0] == step.after[1]) return ExamineLoss(step, trace);
  const TreeName states{.kind = TreeKind::kState, .at = step.step};
  ASSAY_ASSIGN(const Difference at, Descend(states, step.after));
  const auto tensor = static_cast<std::size_t>(at.leaf);
  const std::string& name = terms_.program().state[tensor].name;
  ASSAY_ASSIGN(const Both<Digest> roots, OpenEntryRoots(states, at, step.after, Cause::kResult));
  const InputSource source = terms_.nodes().StateAfter(tensor);
  ASSAY_ASSIGN(const Digest right, AgreedRoot(step, source, trace));
  Finding finding{.cause = Cause::kResult, .step = step.step, .index = static_cast<std::uint32_t>(tensor)};
  finding.reason = fmt::format("step {}: {} is not {}", step.step, name, DescribeSource(terms_, source));
  if (source.kind == InputSource::Kind::kNode) {
    finding.node = static_cast<std::uint32_t>(source.node);
    finding.node_name = terms_.nodes().Describe(source.node);
    finding.reason += fmt::format(" ({})", finding.node_name);
    if (TakesRate(source.node)) finding.reason += fmt::format("; the job gives it lr {}", RateOf(step));
  }
  // Where in the tensor is only told: who is guilty is known.
  const TreeName tree{.kind = TreeKind::kStateTensor, .at = step.step, .index = static_cast<std::uint32_t>(tensor)};
  if ((roots[0] == right) != (roots[1] == right) && SizeOf(tree) > 0) {
    ASSAY_ASSIGN(const Difference leaf, Descend(tree, roots));
    finding.leaf = leaf.leaf;
  }
  return tl::unexpected(Convict(roots, right, std::move(finding)));
}

Step<void> Proceedings::ExamineLoss(const DisputedStep& step, const Digest& trace) {
  const InputSource loss = terms_.nodes().Loss();
  if (loss.kind != InputSource::Kind::kNode)
    return tl::unexpected(Halt(Undecided{"the loss of the job's program is no node's output, which is not examined"}));
  ASSAY_ASSIGN(const NodeRecord record, AgreedRecord(step, loss.node, trace));
  const TreeName tree{.kind = TreeKind::kOutput,
                      .at = step.step,
                      .node = static_cast<std::uint32_t>(loss.node),
                      .index = static_cast<std::uint32_t>(loss.index)};
  const std::uint64_t leaf[] = {0};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed(tree, leaf, record.outputs[loss.index].root));
  std::uint32_t bits = 0;
  Finding finding{.cause = Cause::kResult, .step = step.step, .node = static_cast<std::uint32_t>(loss.node), .leaf = 0};
  finding.node_name = terms_.nodes().Describe(loss.node);
  finding.reason =
      fmt::format("step {}: the loss is not the one that node {} ({}) gives", step.step, loss.node, finding.node_name);
  if (opened.front().size() != sizeof bits) return tl::unexpected(Convict(true, true, std::move(finding)));
  std::memcpy(&bits, opened.front().data(), sizeof bits);
  return tl::unexpected(Convict(step.loss_bits, bits, std::move(finding)));
}

}  // namespace assay::dispute
