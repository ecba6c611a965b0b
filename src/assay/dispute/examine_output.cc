// One output of one node on agreed inputs: to one element, to one value of its derivation, and that computed from a few proven blocks.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "assay/base/check.h"
#include "assay/dispute/proceedings.h"
#include "assay/merkle/tree.h"
#include "assay/semantics/ref/ref.h"

namespace assay::dispute {
namespace {

using NeededLeaves = std::map<std::size_t, std::set<std::uint64_t>>;  // by input

// The blocks that hold these elements. No more than `most` are collected.
NeededLeaves LeavesOf(const OpInstance& op, std::span<const InputRange> needs, std::size_t most) {
  NeededLeaves leaves;
  std::size_t count = 0;
  for (const InputRange& need : needs) {
    const auto input = static_cast<std::size_t>(need.input);
    const std::uint64_t size = assay::SizeOf(op.in[input].dtype);
    for (std::int64_t r = 0; r < need.repeat && need.length > 0; ++r) {
      const std::uint64_t begin = static_cast<std::uint64_t>(need.begin + r * need.stride) * size;
      const std::uint64_t end = begin + static_cast<std::uint64_t>(need.length) * size;
      for (std::uint64_t leaf = begin / kLeafBytes; leaf * kLeafBytes < end; ++leaf) {
        if (leaves[input].insert(leaf).second && ++count > most) return leaves;
      }
    }
  }
  return leaves;
}

std::size_t Count(const NeededLeaves& leaves) {
  std::size_t count = 0;
  for (const auto& [input, numbers] : leaves) count += numbers.size();
  return count;
}

// As many at a time as one question may ask for.
std::vector<std::pair<std::size_t, std::vector<std::uint64_t>>> Questions(const NeededLeaves& leaves) {
  std::vector<std::pair<std::size_t, std::vector<std::uint64_t>>> questions;
  for (const auto& [input, numbers] : leaves) {
    for (const std::uint64_t leaf : numbers) {
      if (questions.empty() || questions.back().first != input || questions.back().second.size() == kMaxLeavesAsked) {
        questions.push_back({input, {}});
      }
      questions.back().second.push_back(leaf);
    }
  }
  return questions;
}

std::string ToText(ref::Value value) { return fmt::format("{} (0x{:08x})", std::bit_cast<float>(value), value); }

}  // namespace

std::string ElementText(DType dtype, ByteSpan bytes) {
  if (dtype == DType::kF32 && bytes.size() == 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data(), sizeof bits);
    return fmt::format("{} (0x{:08x})", std::bit_cast<float>(bits), bits);
  }
  std::string text = "0x";
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) text += fmt::format("{:02x}", *byte);
  return text;
}

bool LieInBlocks(const OpInstance& op, std::span<const InputRange> needs, std::size_t most) {
  return Count(LeavesOf(op, needs, most)) <= most;
}

Step<std::vector<SparseTensor>> Proceedings::FetchInputs(const DisputedStep& step, const NodeRecord& record,
                                                         const OpInstance& op, std::span<const InputRange> needs) {
  const NeededLeaves leaves = LeavesOf(op, needs, ref::kMaxNeededLeaves);
  if (Count(leaves) > ref::kMaxNeededLeaves) {
    return tl::unexpected(
        Halt(Undecided{fmt::format("an element of {} needs more than {} blocks of its inputs, more than a referee opens",
                                   op.def->name, ref::kMaxNeededLeaves)}));
  }
  std::vector<SparseTensor> inputs;
  for (std::size_t input = 0; input < op.in.size(); ++input) {
    const auto wanted = leaves.find(input);
    const bool none = wanted == leaves.end() || wanted->second.empty();
    auto tensor = none ? SparseTensor::Make(op.in[input], 1, 0)
                       : SparseTensor::Make(op.in[input], *wanted->second.begin(), *wanted->second.rbegin());
    if (!tensor) return tl::unexpected(Halt(Undecided{tensor.error().message}));
    inputs.push_back(std::move(*tensor));
  }
  std::vector<Ask> asks;
  for (const auto& [input, wanted] : Questions(leaves)) {
    const TreeName tree{
        .kind = TreeKind::kInput, .at = step.step, .node = record.node, .index = static_cast<std::uint32_t>(input)};
    auto opened = OpenAgreed(tree, wanted, record.inputs[input]);
    if (!opened) {
      auto* more = std::get_if<std::vector<Ask>>(opened.error().next.get());
      if (more == nullptr) return tl::unexpected(std::move(opened).error());
      std::ranges::move(*more, std::back_inserter(asks));
      continue;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::uint64_t begin = wanted[i] * kLeafBytes;
      if ((*opened)[i].size() != std::min<std::uint64_t>(kLeafBytes, op.in[input].bytes() - begin)) {
        Finding finding{.cause = Cause::kStructure, .step = step.step, .node = record.node};
        finding.reason =
            fmt::format("step {}: both agree on an input of node {} that is not of its type", step.step, record.node);
        return tl::unexpected(Convict(true, true, std::move(finding)));
      }
      inputs[input].Put(wanted[i], (*opened)[i]);
    }
  }
  if (!asks.empty()) return tl::unexpected(Halt(std::move(asks)));
  return inputs;
}

// Narrows the element down to one value of its derivation about which the parties differ and whose parts they agree on, and computes it. `said` becomes
// what they say about that value.
Step<std::uint32_t> Proceedings::ExamineValue(const DisputedStep& step, const NodeRecord& record, const OpInstance& op,
                                              const PartsQuestion& element, Both<ref::Value>& said) {
  const std::unique_ptr<ref::Derivation> derivation = ref::Derive(op, static_cast<int>(element.output), element.element);
  if (derivation == nullptr)
    return tl::unexpected(Halt(Undecided{
        fmt::format("an element of {} cannot be computed from a few parts: the op has no derivation", op.def->name)}));
  PartsQuestion question = element;
  ref::Settled settled;
  std::vector<ref::Value> parts;
  while (const std::uint32_t count = derivation->Parts(question.path)) {
    Show("value", fmt::format("step {}, node {}, element {}, part {}", step.step, record.node, element.element,
                              fmt::join(question.path, ".")));
    ASSAY_ASSIGN(const auto lists, ReadBoth(question, [&](Party, ByteSpan body) { return ReadValues(body, count); }));
    const auto [a, b] = std::ranges::mismatch(lists[0], lists[1]);
    if (a == lists[0].end()) {
      parts = lists[0];
      break;
    }
    const auto first = static_cast<std::size_t>(a - lists[0].begin());
    settled.emplace_back(lists[0].begin(), a);
    question.path.push_back(static_cast<std::uint32_t>(first));
    said = {lists[0][first], lists[1][first]};
  }
  const std::vector<InputRange> needs = derivation->Needs(question.path, settled);
  ASSAY_ASSIGN(const std::vector<SparseTensor> inputs, FetchInputs(step, record, op, needs));
  std::vector<const void*> pointers;
  for (const SparseTensor& input : inputs) pointers.push_back(input.data());
  return derivation->Compute(question.path, settled, parts, pointers);
}

Step<void> Proceedings::ExamineOutput(const DisputedStep& step, const NodeRecord& record, std::size_t output,
                                      const Both<Digest>& roots) {
  const std::uint32_t node = record.node;
  const OpInstance op = terms_.nodes().Instance(node);
  const TensorType& type = op.out[output];
  Finding finding{.cause = Cause::kOutput, .step = step.step, .node = node, .node_name = terms_.nodes().Describe(node)};
  finding.index = static_cast<std::uint32_t>(output);
  finding.reason =
      fmt::format("step {}: output {} of node {} ({}) is not what its inputs give", step.step, output, node, finding.node_name);
  const TreeName tree{.kind = TreeKind::kOutput, .at = step.step, .node = node, .index = static_cast<std::uint32_t>(output)};
  ASSAY_ASSIGN(const Difference at, Descend(tree, roots));
  finding.leaf = at.leaf;
  Show("leaf", fmt::format("step {}, node {} ({}), leaf {}", step.step, node, finding.node_name, at.leaf));
  ASSAY_ASSIGN(const Both<Bytes> leaves, OpenBoth(tree, at.leaf, roots));
  const std::size_t size = assay::SizeOf(type.dtype), begin = static_cast<std::size_t>(at.leaf) * kLeafBytes;
  const std::size_t expected = std::min(kLeafBytes, type.bytes() - begin);
  if (leaves[0].size() != expected || leaves[1].size() != expected) {
    return tl::unexpected(Convict(leaves[0].size() != expected, leaves[1].size() != expected, std::move(finding)));
  }
  const auto differs = static_cast<std::size_t>(std::ranges::mismatch(leaves[0], leaves[1]).in1 - leaves[0].begin()) / size;
  const std::int64_t element = static_cast<std::int64_t>(begin / size + differs);
  finding.element = element;
  Both<Bytes> said;
  for (std::size_t p = 0; p < 2; ++p) {
    const auto first = leaves[p].begin() + static_cast<std::ptrdiff_t>(differs * size);
    said[p].assign(first, first + static_cast<std::ptrdiff_t>(size));
    finding.said[p] = ElementText(type.dtype, said[p]);
  }
  finding.reason += fmt::format(", first at element {} (leaf {})", element, at.leaf);

  if (terms_.job().precision == Precision::kFp64Rounded && type.dtype == DType::kF32) {
    Both<float> values{};
    for (std::size_t p = 0; p < 2; ++p) std::memcpy(&values[p], said[p].data(), sizeof(float));
    return ExamineRounded(step, record, output, element, values, std::move(finding));
  }
  const Range range{element, element + 1};
  const std::vector<InputRange> needs = op.def->dependencies(op, static_cast<int>(output), range);
  if (Count(LeavesOf(op, needs, kDirectLeaves)) > kDirectLeaves) {
    Both<ref::Value> values{};
    if (size != sizeof values[0])
      return tl::unexpected(Halt(Undecided{
          fmt::format("an element of {} cannot be computed from a few parts: the op has no derivation", op.def->name)}));
    for (std::size_t p = 0; p < 2; ++p) std::memcpy(&values[p], said[p].data(), size);
    const PartsQuestion question{
        .step = step.step, .node = node, .output = static_cast<std::uint32_t>(output), .element = element};
    ASSAY_ASSIGN(const ref::Value right, ExamineValue(step, record, op, question, values));
    for (std::size_t p = 0; p < 2; ++p) finding.said[p] = ToText(values[p]);
    finding.truth = ToText(right);
    return tl::unexpected(Convict(values, right, std::move(finding)));
  }
  ASSAY_ASSIGN(const std::vector<SparseTensor> inputs, FetchInputs(step, record, op, needs));
  auto computed = SparseTensor::Make(type, at.leaf, at.leaf);
  if (!computed) return tl::unexpected(Halt(Undecided{computed.error().message}));
  std::vector<const void*> in;
  for (const SparseTensor& input : inputs) in.push_back(input.data());
  std::vector<void*> out(op.out.size(), nullptr);
  out[output] = computed->data();
  ref::Compute(op.def->index, {&op, in, out}, static_cast<int>(output), range);
  const auto* first = static_cast<const std::uint8_t*>(computed->data()) + static_cast<std::size_t>(element) * size;
  const Bytes right(first, first + size);
  finding.truth = ElementText(type.dtype, right);
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

}  // namespace assay::dispute
