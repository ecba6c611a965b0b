// Disputes about what nobody computed: the starting state, which the seed gives, and batches, which the seed draws from the data.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/data/provable.h"
#include "assay/dispute/examination.h"
#include "assay/exec/step.h"
#include "assay/merkle/tree.h"
#include "assay/model/model.h"

namespace assay::dispute {
namespace {

// The elements of leaf `leaf` of a tensor.
Range ElementsOf(const TensorType& type, std::uint64_t leaf) {
  const auto per_leaf = static_cast<std::int64_t>(kLeafBytes / SizeOf(type.dtype));
  const std::int64_t begin = static_cast<std::int64_t>(leaf) * per_leaf;
  return {begin, std::min(begin + per_leaf, type.elements())};
}

bool IsModelTensor(const ModelConfig& model, std::string_view name) {
  return std::ranges::any_of(ModelState(model), [&](const StateSpec& spec) { return spec.name == name; });
}

}  // namespace

// A leaf of a list of tensors names a tensor of the job with some root; whose does not is guilty.
Step<Both<Digest>> Examination::OpenEntryRoots(const TreeName& tree, const Difference& at, const Both<Digest>& roots,
                                               Cause cause) {
  ASSAY_ASSIGN(const Both<Bytes> leaves, OpenBoth(tree, at.leaf, roots));
  Both<bool> good{};
  Both<Digest> found{};
  for (std::size_t p = 0; p < 2; ++p) {
    if (leaves[p].size() < found[p].bytes.size()) continue;
    std::copy(leaves[p].end() - static_cast<std::ptrdiff_t>(found[p].bytes.size()), leaves[p].end(), found[p].bytes.begin());
    const auto index = static_cast<std::size_t>(at.leaf);
    const Bytes right = tree.kind == TreeKind::kState     ? terms_.StateEntry(index, found[p])
                        : tree.kind == TreeKind::kWeights ? terms_.WeightEntry(index, found[p])
                                                          : terms_.BatchEntry(index, found[p]);
    good[p] = leaves[p] == right;
  }
  if (good[0] && good[1]) return found;
  Finding finding{.cause = cause, .step = tree.at};
  finding.reason = fmt::format("leaf {} of {} is not the job's tensor", at.leaf, Describe(CommitQuestion{tree}).substr(12));
  return tl::unexpected(Convict(!good[0], !good[1], std::move(finding)));
}

Step<void> Examination::ExamineStart(const Both<Digest>& roots) {
  const TreeName states{.kind = TreeKind::kState, .at = 0};
  ASSAY_ASSIGN(const Difference at, Descend(states, roots));
  const auto tensor = static_cast<std::size_t>(at.leaf);
  const StateSpec& spec = terms_.program().state[tensor];
  Finding finding{.cause = Cause::kStart, .step = 0, .index = static_cast<std::uint32_t>(tensor)};
  ASSAY_ASSIGN(const Both<Digest> tensors, OpenEntryRoots(states, at, roots, Cause::kStart));
  const TreeName tree{.kind = TreeKind::kStateTensor, .at = 0, .index = static_cast<std::uint32_t>(tensor)};
  const bool from_file = terms_.inputs().weights && IsModelTensor(terms_.job().model, spec.name);
  if (from_file && !terms_.starting_weights()) {
    return tl::unexpected(
        Halt(Undecided{fmt::format("the runs start from different values of {}, which come from a file of weights that the "
                                   "job names by its hash alone",
                                   spec.name),
                       "the job with that file (--job) decides it"}));
  }
  if (spec.type.elements() == 0) {
    finding.reason = fmt::format("{} has no elements and so the root of nothing", spec.name);
    return tl::unexpected(Convict(tensors, HashBytes({}), std::move(finding)));
  }
  ASSAY_ASSIGN(const Difference leaf, Descend(tree, tensors));
  ASSAY_ASSIGN(const Both<Bytes> said, OpenBoth(tree, leaf.leaf, tensors));
  finding.leaf = leaf.leaf;
  finding.reason =
      from_file ? fmt::format("leaf {} of {} does not start with what the job's file of weights holds", leaf.leaf, spec.name)
                : fmt::format("leaf {} of {} does not start with what seed {} draws", leaf.leaf, spec.name, terms_.job().seed);
  const Range elements = ElementsOf(spec.type, leaf.leaf);
  const Bytes right = from_file ? terms_.starting_weights()(tensor, elements)
                                : InitialBytes(terms_.program(), terms_.job().seed, tensor, elements);
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

// The entry covers several steps: which one's batch differs first.
Step<void> Examination::ExamineBatches(std::int64_t index, const Both<Digest>& roots) {
  const TreeName tree{.kind = TreeKind::kBatches, .at = index};
  ASSAY_ASSIGN(const Difference at, Descend(tree, roots));
  ASSAY_ASSIGN(const Both<Bytes> leaves, OpenBoth(tree, at.leaf, roots));
  const std::int64_t step = terms_.StepBefore(index) + 1 + static_cast<std::int64_t>(at.leaf);
  Both<Digest> batch{};
  const Both<bool> good{leaves[0].size() == batch[0].bytes.size(), leaves[1].size() == batch[1].bytes.size()};
  if (!good[0] || !good[1]) {
    Finding finding{.cause = Cause::kBatch, .reason = fmt::format("the batch root of step {} is none", step), .step = step};
    return tl::unexpected(Convict(!good[0], !good[1], std::move(finding)));
  }
  for (std::size_t p = 0; p < 2; ++p) std::ranges::copy(leaves[p], batch[p].bytes.begin());
  return ExamineBatch(step, batch);
}

Step<void> Examination::ExamineBatch(std::int64_t step, const Both<Digest>& roots) {
  const TreeName batch{.kind = TreeKind::kBatch, .at = step};
  ASSAY_ASSIGN(const Difference at, Descend(batch, roots));
  const Terms::Field& field = terms_.fields()[static_cast<std::size_t>(at.leaf)];
  ASSAY_ASSIGN(const Both<Digest> fields, OpenEntryRoots(batch, at, roots, Cause::kBatch));
  const TreeName tree{.kind = TreeKind::kBatchField, .at = step, .index = static_cast<std::uint32_t>(at.leaf)};
  ASSAY_ASSIGN(const Difference leaf, Descend(tree, fields));
  ASSAY_ASSIGN(const Both<Bytes> said, OpenBoth(tree, leaf.leaf, fields));

  const std::uint64_t rows = static_cast<std::uint64_t>(field.type.shape[0]), row_bytes = field.type.bytes() / rows;
  const std::uint64_t begin = leaf.leaf * kLeafBytes, end = std::min<std::uint64_t>(begin + kLeafBytes, field.type.bytes());
  const SamplesQuestion question{.step = step, .begin = begin / row_bytes, .end = (end + row_bytes - 1) / row_bytes};
  ASSAY_ASSIGN(const ByteSpan body, AskOne(question));
  const auto proven = [&]() -> Result<ProvenBatch> {
    ASSAY_ASSIGN(const SamplesAnswer answer, ReadSamples(body));
    ASSAY_TRY(Check(answer.descriptor));
    const Job& job = terms_.job();
    const DataClaim claim{terms_.inputs().data, answer.descriptor, TrainingRule(job.data, job.batch.sequence)};
    ASSAY_ASSIGN(const auto decoder, SampleDecoder::Make(claim.descriptor, claim.rule));
    const auto number = static_cast<std::uint32_t>(step - 1);
    const std::vector<std::int64_t> all = BatchIndices(job.seed, decoder->samples(), number, static_cast<std::int64_t>(rows));
    const auto some = std::span(all).subspan(question.begin, question.end - question.begin);
    const DrawContext first{
        .seed = job.seed, .step = number, .position = static_cast<std::int64_t>(question.begin), .train = true};
    return VerifyBatch(answer.proof, claim, some, first);
  }();
  if (!proven) {
    Finding finding{.cause = Cause::kUnproven, .reason = proven.error().message, .step = step, .unproven = question};
    return tl::unexpected(Convict(true, false, std::move(finding)));
  }
  const auto found = std::ranges::find(proven->fields, field.name, [](const auto& named) { return named.first; });
  const auto which = static_cast<std::size_t>(found - proven->fields.begin());
  const std::uint64_t offset = begin - question.begin * row_bytes;
  if (found == proven->fields.end() || proven->tensors[which].type().bytes() < offset + (end - begin)) {
    return tl::unexpected(Halt(Undecided{fmt::format("the data have no field like the program's {}", field.name)}));
  }
  const ByteSpan bytes = proven->tensors[which].bytes().subspan(offset, end - begin);
  Finding finding{.cause = Cause::kBatch, .step = step, .index = static_cast<std::uint32_t>(at.leaf), .leaf = leaf.leaf};
  finding.reason = fmt::format("step {} was run on other samples than the job's seed draws from its data ({}, leaf {})", step,
                               field.name, leaf.leaf);
  return tl::unexpected(Convict(said, Bytes(bytes.begin(), bytes.end()), std::move(finding)));
}

}  // namespace assay::dispute
