// Disputes about what nobody computed: the starting state, which the seed gives, and batches, which the seed draws from the data.
#include <algorithm>

#include "assay/base/check.h"
#include "assay/data/batch_order.h"
#include "assay/data/provable.h"
#include "assay/dispute/limits.h"
#include "assay/dispute/proceedings.h"
#include "assay/exec/step.h"
#include "assay/job/limits.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

// The elements of leaf `leaf` of a tensor.
Range ElementsOf(const TensorType& type, std::uint64_t leaf) {
  const auto per_leaf = static_cast<std::int64_t>(kLeafBytes / SizeOf(type.dtype));
  const std::int64_t begin = static_cast<std::int64_t>(leaf) * per_leaf;
  return {begin, std::min(begin + per_leaf, type.elements())};
}

// Whether the batch's field is made of such samples.
bool IsSampleOf(const TensorType& sample, const TensorType& field) {
  return sample.dtype == field.dtype && std::ranges::equal(sample.shape.dims(), field.shape.dims().subspan(1));
}

}  // namespace

// A leaf of a list of tensors names a tensor of the job with some root; whose does not is guilty.
Step<Both<Digest>> Proceedings::OpenEntryRoots(const TreeName& tree, const Difference& at, const Both<Digest>& roots,
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

Step<void> Proceedings::ExamineStart(const Both<Digest>& roots) {
  const TreeName states{.kind = TreeKind::kState, .at = 0};
  ASSAY_ASSIGN(const Difference at, Descend(states, roots));
  const auto tensor = static_cast<std::size_t>(at.leaf);
  const StateSpec& spec = terms_.program().state[tensor];
  Finding finding{.cause = Cause::kStart, .step = 0, .index = static_cast<std::uint32_t>(tensor)};
  ASSAY_ASSIGN(const Both<Digest> tensors, OpenEntryRoots(states, at, roots, Cause::kStart));
  const TreeName tree{.kind = TreeKind::kStateTensor, .at = 0, .index = static_cast<std::uint32_t>(tensor)};
  const bool from_file = terms_.inputs().weights && std::ranges::binary_search(terms_.weights(), tensor);
  if (from_file && !terms_.starting_weights()) {
    return tl::unexpected(
        Halt(Undecided{fmt::format("the runs start from different values of {}, which come from a file of weights that the "
                                   "job names by its hash alone",
                                   spec.name),
                       "the job with that file (--job) decides it", 0}));
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
  if (from_file && right.empty()) {
    return tl::unexpected(Halt(Undecided{
        fmt::format("the runs start from different values of {}, and the job's file of weights cannot be read here", spec.name),
        "the job with that file (--job) decides it", 0}));
  }
  return tl::unexpected(Convict(said, right, std::move(finding)));
}

// The entry covers several steps: which one's batch differs first.
Step<void> Proceedings::ExamineBatches(std::int64_t index, const Both<Digest>& roots) {
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

Step<void> Proceedings::ExamineBatch(std::int64_t step, const Both<Digest>& roots) {
  const TreeName batch{.kind = TreeKind::kBatch, .at = step};
  ASSAY_ASSIGN(const Difference at, Descend(batch, roots));
  const Terms::Field& field = terms_.fields()[static_cast<std::size_t>(at.leaf)];
  ASSAY_ASSIGN(const Both<Digest> fields, OpenEntryRoots(batch, at, roots, Cause::kBatch));
  const TreeName tree{.kind = TreeKind::kBatchField, .at = step, .index = static_cast<std::uint32_t>(at.leaf)};
  ASSAY_ASSIGN(const Difference leaf, Descend(tree, fields));
  ASSAY_ASSIGN(const Both<Bytes> said, OpenBoth(tree, leaf.leaf, fields));

  Finding finding{.cause = Cause::kBatch, .step = step, .index = static_cast<std::uint32_t>(at.leaf), .leaf = leaf.leaf};
  finding.reason = fmt::format("step {} was run on other samples than the job's seed draws from its data ({}, leaf {})", step,
                               field.name, leaf.leaf);
  const std::uint64_t begin = leaf.leaf * kLeafBytes, end = std::min<std::uint64_t>(begin + kLeafBytes, field.type.bytes());
  const Both<bool> sized{said[0].size() == end - begin, said[1].size() == end - begin};
  if (!sized[0] || !sized[1]) return tl::unexpected(Convict(!sized[0], !sized[1], std::move(finding)));

  // A leaf can hold very many samples: the first in which the parties differ decides.
  const std::uint64_t row_bytes = field.type.bytes() / static_cast<std::uint64_t>(field.type.shape[0]);
  const auto differs = static_cast<std::uint64_t>(std::ranges::mismatch(said[0], said[1]).in1 - said[0].begin());
  const std::uint64_t row = (begin + differs) / row_bytes;
  const std::uint64_t first = std::max(begin, row * row_bytes), last = std::min(end, (row + 1) * row_bytes);
  ASSAY_ASSIGN(const Bytes sample, SampleField(step, row, field));
  const auto piece = [&](const Bytes& bytes, std::uint64_t origin) {
    const auto at_byte = [&](std::uint64_t byte) { return bytes.begin() + static_cast<std::ptrdiff_t>(byte - origin); };
    return Bytes(at_byte(first), at_byte(last));
  };
  finding.reason += fmt::format(", first in sample {}", row);
  return tl::unexpected(
      Convict({piece(said[0], begin), piece(said[1], begin)}, piece(sample, row * row_bytes), std::move(finding)));
}

// What the seed draws for sample `row` of a step's batch, as far as it goes into this field.
Step<Bytes> Proceedings::SampleField(std::int64_t step, std::uint64_t row, const Terms::Field& field) {
  const SamplesQuestion question{.step = step, .begin = row, .end = row + 1};
  ASSAY_ASSIGN(const ByteSpan body, AskOne(question));
  const auto unproven = [&](const Error& error) {
    Finding finding{.cause = Cause::kUnproven, .reason = error.message, .step = step, .unproven = question};
    return tl::unexpected(Convict(true, false, std::move(finding)));
  };
  const Result<SamplesAnswer> answer = ReadSamples(body, MaxBodyBytes(terms_, question));
  if (!answer) return unproven(answer.error());
  const Job& job = terms_.job();
  const DataClaim claim{terms_.inputs().data, answer->descriptor, TrainingRule(job.data, job.batch.sequence)};
  if (const Status status = CheckDescriptor(answer->proof, claim); !status) return unproven(status.error());

  // From here on the descriptor is the job's. Whether such samples go into such a batch is checked before one is made.
  const auto undecided = [](std::string why) { return tl::unexpected(Halt(Undecided{std::move(why)})); };
  const auto decoder = SampleDecoder::Make(claim.descriptor, claim.rule);
  if (!decoder) return undecided(decoder.error().message);
  std::uint64_t sample_bytes = 0;
  bool fits = false;
  for (const auto& [name, type] : (*decoder)->fields()) {
    sample_bytes += type.bytes();
    fits = fits || (name == field.name && IsSampleOf(type, field.type));
  }
  if (!fits || sample_bytes > kMaxSampleBytes) {
    return undecided(fmt::format("the data have no field like the program's {}", field.name));
  }
  const auto number = static_cast<std::uint32_t>(step - 1);
  const auto position = static_cast<std::int64_t>(row);
  const std::int64_t index[] = {BatchIndex(job.seed, (*decoder)->samples(), number, field.type.shape[0], position)};
  const DrawContext context{.seed = job.seed, .step = number, .position = position, .train = true};
  const Result<ProvenBatch> proven = VerifyBatch(answer->proof, claim, index, context);
  if (!proven) return unproven(proven.error());
  const auto found = std::ranges::find(proven->fields, field.name, [](const auto& named) { return named.first; });
  const ByteSpan bytes = proven->tensors[static_cast<std::size_t>(found - proven->fields.begin())].bytes();
  return Bytes(bytes.begin(), bytes.end());
}

}  // namespace assay::dispute
