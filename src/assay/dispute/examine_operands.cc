// What one element of a rounded job is computed from: opened where it lies in a few blocks, otherwise agreed on word by word (operands.h).
#include <algorithm>
#include <cstring>

#include "assay/base/check.h"
#include "assay/dispute/proceedings.h"
#include "assay/dispute/squares.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

std::span<const ref::Value> DigestIn(const std::vector<ref::Value>& digests, std::size_t chunk) {
  return std::span(digests).subspan(chunk * Operands::kDigestWords, Operands::kDigestWords);
}

// The words of a chunk, which must have the digest that was told before.
Result<std::vector<ref::Value>> ReadChunk(ByteSpan body, std::size_t words, std::span<const ref::Value> digest) {
  ASSAY_ASSIGN(std::vector<ref::Value> read, ReadValues(body, words));
  if (!std::ranges::equal(Operands::DigestOf(read), digest)) return Err("the words do not have the digest told before");
  return read;
}

}  // namespace

// Both have told different words of a chunk: one block of an agreed input says whose are false.
Step<void> Proceedings::ExamineOperands(const DisputedStep& step, const NodeRecord& record, const Operands& operands,
                                        const PartsQuestion& chunk, const Both<std::vector<ref::Value>>& digests) {
  const std::size_t index = chunk.path.front();
  ASSAY_ASSIGN(const auto words, ReadBoth(chunk, [&](Party party, ByteSpan body) {
                 return ReadChunk(body, operands.WordsIn(index), DigestIn(digests[static_cast<std::size_t>(party)], index));
               }));
  const auto differs = static_cast<std::size_t>(std::ranges::mismatch(words[0], words[1]).in1 - words[0].begin());
  ASSAY_CHECK(differs < words[0].size());  // their digests differ
  const Operands::Place place = operands.At(index, differs);
  const std::uint64_t leaf[] = {place.word * sizeof(ref::Value) / kLeafBytes};
  const TreeName tree{.kind = TreeKind::kInput, .at = step.step, .node = record.node, .index = place.input};
  ASSAY_ASSIGN(const std::vector<Bytes> opened, OpenAgreed(tree, leaf, record.inputs[place.input]));
  Finding finding{
      .cause = Cause::kInput, .step = step.step, .node = record.node, .node_name = terms_.nodes().Describe(record.node)};
  finding.index = place.input;
  finding.leaf = leaf[0];
  finding.reason = fmt::format("step {}: what is said of input {} of node {} ({}) is not what stands there (leaf {})",
                               step.step, place.input, record.node, finding.node_name, leaf[0]);
  const std::uint64_t at = place.word * sizeof(ref::Value) - leaf[0] * kLeafBytes;
  ref::Value right = 0;
  if (at + sizeof right > opened.front().size()) return tl::unexpected(Convict(true, true, std::move(finding)));
  std::memcpy(&right, opened.front().data() + at, sizeof right);
  const Both<ref::Value> said{words[0][differs], words[1][differs]};
  for (std::size_t p = 0; p < 2; ++p) finding.said[p] = fmt::format("0x{:08x}", said[p]);
  finding.truth = fmt::format("0x{:08x}", right);
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

// Narrows a sum of squares down to one part about which the parties differ, and convicts by that; returns the sum where they agree on all parts of it.
Step<numerics::DoubleDouble> Proceedings::ExamineSquares(const DisputedStep& step, const NodeRecord& record) {
  const OpInstance op = terms_.nodes().Instance(record.node);
  const SquaresTree tree(op.in[0].elements());
  PartsQuestion question{.step = step.step, .node = record.node, .output = 0, .element = 0};
  Both<std::vector<ref::Value>> said;
  Range range = *tree.RangeOf({});
  std::vector<ref::Value> right;
  while (const std::size_t parts = tree.Parts(range)) {
    Show("value",
         fmt::format("step {}, node {}, elements {}..{} of a sum", step.step, record.node, range.begin, range.end - 1));
    const std::size_t words = parts * SquaresTree::kWords;
    ASSAY_ASSIGN(const auto lists, ReadBoth(question, [&](Party, ByteSpan body) { return ReadValues(body, words); }));
    const auto differs = static_cast<std::size_t>(std::ranges::mismatch(lists[0], lists[1]).in1 - lists[0].begin());
    if (differs == words) {
      const numerics::DoubleDouble sum = SquaresTree::Join(lists[0]);
      if (question.path.empty()) return sum;
      right = SquaresTree::Words(sum);
      break;
    }
    const std::size_t part = differs / SquaresTree::kWords;
    for (std::size_t p = 0; p < 2; ++p) {
      const auto first = lists[p].begin() + static_cast<std::ptrdiff_t>(part * SquaresTree::kWords);
      said[p].assign(first, first + SquaresTree::kWords);
    }
    question.path.push_back(static_cast<std::uint32_t>(part));
    range = *tree.RangeOf(question.path);
  }
  if (right.empty()) {
    const InputRange needs[] = {{.input = 0, .begin = range.begin, .length = range.size()}};
    ASSAY_ASSIGN(const std::vector<SparseTensor> inputs, FetchInputs(step, record, op, needs));
    right = SquaresTree::Words(SquaresTree::OfRun(range, static_cast<const float*>(inputs[0].data())));
  }
  Finding finding{
      .cause = Cause::kOutput, .step = step.step, .node = record.node, .node_name = terms_.nodes().Describe(record.node)};
  finding.index = 0;
  finding.reason =
      fmt::format("step {}: the squares of elements {} to {} of the input of node {} ({}) do not add up to what is said",
                  step.step, range.begin, range.end - 1, record.node, finding.node_name);
  const auto text = [](const std::vector<ref::Value>& words) {
    return fmt::format("{:.17g}", numerics::ToDouble(SquaresTree::Join(words)));
  };
  for (std::size_t p = 0; p < 2; ++p) finding.said[p] = text(said[p]);
  finding.truth = text(right);
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

// The words of all chunks, on whose digests both agree, in the inputs of the small op.
Step<Proceedings::Gathered> Proceedings::TakeWords(const Operands& operands, const PartsQuestion& element,
                                                   const std::vector<ref::Value>& digests) {
  Gathered gathered{operands.narrowed().op, operands.narrowed().element};
  std::size_t size = 0;
  for (const TensorType& type : gathered.op.in) size += static_cast<std::size_t>(type.elements());
  gathered.told.resize(size);
  std::vector<ref::Value*> out;
  ref::Value* next = gathered.told.data();
  for (const TensorType& type : gathered.op.in) {
    out.push_back(next);
    gathered.inputs.push_back(next);
    next += type.elements();
  }
  std::vector<Ask> asks;
  for (std::size_t chunk = 0; chunk < operands.chunks(); ++chunk) {
    PartsQuestion question = element;
    question.path = {static_cast<std::uint32_t>(chunk)};
    const auto body = AskOne(question);  // either can tell
    if (!body) {
      auto* more = std::get_if<std::vector<Ask>>(body.error().next.get());
      if (more == nullptr) return tl::unexpected(body.error());
      std::ranges::move(*more, std::back_inserter(asks));
      continue;
    }
    const auto words = ReadChunk(*body, operands.WordsIn(chunk), DigestIn(digests, chunk));
    if (!words) {
      Finding finding{.cause = Cause::kUnproven, .step = element.step, .unproven = question};
      finding.reason = UnprovenReason(question, words.error().message);
      return tl::unexpected(Convict(true, false, std::move(finding)));
    }
    operands.Scatter(chunk, *words, out);
  }
  if (!asks.empty()) return tl::unexpected(Halt(std::move(asks)));
  return gathered;
}

Step<Proceedings::Gathered> Proceedings::FetchOperands(const DisputedStep& step, const NodeRecord& record, const OpInstance& op,
                                                       std::size_t output, std::int64_t element) {
  const std::vector<InputRange> needs = op.def->dependencies(op, static_cast<int>(output), {element, element + 1});
  const auto operands =
      LieInBlocks(op, needs, kDirectLeaves) ? std::nullopt : Operands::Of(op, static_cast<int>(output), element);
  if (!operands) {
    ASSAY_ASSIGN(std::vector<SparseTensor> opened, FetchInputs(step, record, op, needs));
    Gathered gathered{op, element};
    for (const SparseTensor& input : opened) gathered.inputs.push_back(input.data());
    gathered.opened = std::move(opened);
    return gathered;
  }
  const PartsQuestion all{
      .step = step.step, .node = record.node, .output = static_cast<std::uint32_t>(output), .element = element};
  if (operands->words() == 0) return TakeWords(*operands, all, {});
  Show("value", fmt::format("step {}, node {}, element {}, {} operands", step.step, record.node, element, operands->words()));
  const std::size_t count = operands->chunks() * Operands::kDigestWords;
  ASSAY_ASSIGN(const auto digests, ReadBoth(all, [&](Party, ByteSpan body) { return ReadValues(body, count); }));
  const auto differs = static_cast<std::size_t>(std::ranges::mismatch(digests[0], digests[1]).in1 - digests[0].begin());
  if (differs < count) {
    PartsQuestion chunk = all;
    chunk.path = {static_cast<std::uint32_t>(differs / Operands::kDigestWords)};
    ASSAY_TRY(ExamineOperands(step, record, *operands, chunk, digests));
  }
  return TakeWords(*operands, all, digests[0]);
}

}  // namespace assay::dispute
