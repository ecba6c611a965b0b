// What one element of a rounded job is computed from: opened where it lies in a few blocks, otherwise agreed on word by word (operands.h).
#include <algorithm>
#include <cstring>

#include "assay/base/check.h"
#include "assay/dispute/examination.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

// Sums over so much that not even the words fit are opened block by block, up to 64 MiB.
constexpr std::size_t kMaxRoundedLeaves = 16384;

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
Step<void> Examination::ExamineOperands(const DisputedStep& step, const NodeRecord& record, const Operands& operands,
                                        const PartsQuestion& chunk, const Both<std::vector<ref::Value>>& digests) {
  const std::size_t index = chunk.path.front();
  ASSAY_ASSIGN(const auto words, ReadBoth(chunk, [&](Party party, ByteSpan body) {
                 return ReadChunk(body, operands.WordsIn(index), DigestIn(digests[static_cast<std::size_t>(party)], index));
               }));
  const auto differs = static_cast<std::size_t>(std::ranges::mismatch(words[0], words[1]).in1 - words[0].begin());
  ASSAY_CHECK(differs < words[0].size());  // their digests differ
  const Operands::Place& place = operands.At(index, differs);
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

Step<std::vector<SparseTensor>> Examination::FetchOperands(const DisputedStep& step, const NodeRecord& record,
                                                           const OpInstance& op, std::size_t output, std::int64_t element) {
  const std::vector<InputRange> needs = op.def->dependencies(op, static_cast<int>(output), {element, element + 1});
  const auto operands = LieInBlocks(op, needs, kDirectLeaves) ? std::nullopt : Operands::Of(op, needs);
  if (!operands) return FetchInputs(step, record, op, needs, kMaxRoundedLeaves);
  const PartsQuestion all{
      .step = step.step, .node = record.node, .output = static_cast<std::uint32_t>(output), .element = element};
  const auto chunk_of = [&](std::size_t chunk) {
    PartsQuestion question = all;
    question.path = {static_cast<std::uint32_t>(chunk)};
    return question;
  };
  Show("value", fmt::format("step {}, node {}, element {}, {} operands", step.step, record.node, element,
                            operands->chunks() * Operands::kChunk));
  const std::size_t count = operands->chunks() * Operands::kDigestWords;
  ASSAY_ASSIGN(const auto digests, ReadBoth(all, [&](Party, ByteSpan body) { return ReadValues(body, count); }));
  const auto differs = static_cast<std::size_t>(std::ranges::mismatch(digests[0], digests[1]).in1 - digests[0].begin());
  if (differs < count) {
    ASSAY_TRY(ExamineOperands(step, record, *operands, chunk_of(differs / Operands::kDigestWords), digests));
  }
  std::vector<SparseTensor> inputs;
  std::vector<void*> out;
  for (const TensorType& type : op.in) {
    auto tensor = SparseTensor::Make(type);
    if (!tensor) return tl::unexpected(Halt(Undecided{tensor.error().message}));
    inputs.push_back(std::move(*tensor));
    out.push_back(inputs.back().data());
  }
  // They agree on all digests: either can tell the words.
  std::vector<Ask> asks;
  for (std::size_t chunk = 0; chunk < operands->chunks(); ++chunk) {
    const PartsQuestion question = chunk_of(chunk);
    const auto body = AskOne(question);
    if (!body) {
      auto* more = std::get_if<std::vector<Ask>>(body.error().next.get());
      if (more == nullptr) return tl::unexpected(body.error());
      std::ranges::move(*more, std::back_inserter(asks));
      continue;
    }
    const auto words = ReadChunk(*body, operands->WordsIn(chunk), DigestIn(digests[0], chunk));
    if (!words) {
      Finding finding{.cause = Cause::kUnproven, .step = step.step, .unproven = question};
      finding.reason = fmt::format("the answer about {} does not hold: {}", Describe(question), words.error().message);
      return tl::unexpected(Convict(true, false, std::move(finding)));
    }
    operands->Scatter(chunk, *words, out);
  }
  if (!asks.empty()) return tl::unexpected(Halt(std::move(asks)));
  return inputs;
}

}  // namespace assay::dispute
