#include "estimate.h"

#include <algorithm>
#include <map>
#include <set>

#include "assay/dispute/limits.h"
#include "assay/dispute/proceedings.h"
#include "assay/merkle/tree.h"
#include "assay/semantics/ref/derivation.h"

namespace assay::dispute {
namespace {

class Estimator {
 public:
  explicit Estimator(const Terms& terms) : terms_(terms) {}
  Bill Take() const { return bill_; }
  void Decide() { deciding_ = true; }

  void Round(std::size_t bytes) {
    ++bill_.rounds;
    bill_.bytes += bytes;
    if (deciding_) bill_.decision_bytes += bytes;
  }
  void Descend(const TreeName& tree, std::uint64_t leaf) {
    LeafSpan span{0, *terms_.TreeSize(tree)};
    while (span.size() > 1) {
      const std::vector<LeafSpan> parts = Frontier(span, kExpandLevels);
      Round(2 * 32 * parts.size());
      span = *std::ranges::find_if(parts, [&](const LeafSpan& part) { return part.begin <= leaf && leaf < part.end; });
    }
  }
  // What answers with these leaves have.
  std::size_t Leaves(const TreeName& tree, std::span<const std::uint64_t> leaves) const {
    return TrueBodyBytes(terms_, LeavesQuestion{tree, SpansOf(leaves)});
  }
  // From the receipts to the entry of the step, and to the step in it.
  void ToEntry(std::int64_t step) {
    const TreeName log{.kind = TreeKind::kLog};
    const auto entry = static_cast<std::uint64_t>(EntryOf(step));
    const std::uint64_t ends[] = {0, terms_.entries() - 1}, around[] = {entry - 1, entry};
    Round(2 * Leaves(log, ends));
    Descend(log, entry);
    Round(2 * Leaves(log, around));
  }
  std::int64_t EntryOf(std::int64_t step) const { return (step + terms_.job().commit_every - 1) / terms_.job().commit_every; }

 private:
  const Terms& terms_;
  Bill bill_;
  bool deciding_ = false;
};

}  // namespace

Bill EstimateBill(const Terms& terms, std::int64_t step, std::size_t node, std::size_t output, std::int64_t element) {
  Estimator estimator(terms);
  estimator.ToEntry(step);
  const std::int64_t entry = estimator.EntryOf(step);
  const auto place = static_cast<std::uint64_t>(step - 1 - terms.StepBefore(entry));
  const TreeName states{.kind = TreeKind::kStates, .at = entry}, batches{.kind = TreeKind::kBatches, .at = entry};
  const std::uint64_t covered = *terms.TreeSize(states), at_step[] = {place}, at[] = {node};
  if (covered > 1) {
    const std::uint64_t end[] = {covered - 1}, before[] = {place == 0 ? 0 : place - 1};
    estimator.Round(2 * 32);
    estimator.Round(2 * estimator.Leaves(states, end));
    estimator.Descend(states, place);
    if (place != covered - 1) estimator.Round(2 * estimator.Leaves(states, at_step));
    if (place > 0) estimator.Round(estimator.Leaves(states, before));
  }
  estimator.Round(estimator.Leaves(batches, at_step));
  estimator.Round(2 * 32);
  const TreeName trace{.kind = TreeKind::kTrace, .at = step};
  estimator.Descend(trace, node);
  estimator.Decide();
  estimator.Round(2 * estimator.Leaves(trace, at));

  const OpInstance op = terms.nodes().Instance(node);
  const auto number = static_cast<std::uint32_t>(node);
  const TreeName tree{.kind = TreeKind::kOutput, .at = step, .node = number, .index = static_cast<std::uint32_t>(output)};
  const std::uint64_t leaf[] = {static_cast<std::uint64_t>(element) * SizeOf(op.out[output].dtype) / kLeafBytes};
  estimator.Descend(tree, leaf[0]);
  estimator.Round(2 * estimator.Leaves(tree, leaf));
  std::vector<InputRange> needs = op.def->dependencies(op, static_cast<int>(output), {element, element + 1});
  if (ref::LeavesOf(op, needs).size() > kDirectLeaves) {
    const auto derivation = ref::Derive(op, static_cast<int>(output), element);
    ref::Path path;
    ref::Settled settled;
    while (const std::uint32_t parts = derivation->Parts(path)) {
      estimator.Round(2 * 4 * parts);
      const auto part = static_cast<std::uint32_t>((static_cast<std::size_t>(element) + path.size() * 7) % parts);
      settled.emplace_back(part, 0);
      path.push_back(part);
    }
    needs = derivation->Needs(path, settled);
  }
  std::map<int, std::vector<std::uint64_t>> leaves;
  for (const ref::NeededLeaf& needed : ref::LeavesOf(op, needs))
    leaves[needed.input].push_back(static_cast<std::uint64_t>(needed.leaf));
  std::size_t bytes = 0;
  for (const auto& [input, numbers] : leaves) {
    bytes += estimator.Leaves(
        {.kind = TreeKind::kInput, .at = step, .node = number, .index = static_cast<std::uint32_t>(input)}, numbers);
  }
  if (!leaves.empty()) estimator.Round(bytes);
  return estimator.Take();
}

Bill EstimateBatchBill(const Terms& terms, std::int64_t step, std::size_t field, std::uint64_t row) {
  Estimator estimator(terms);
  estimator.ToEntry(step);
  const std::int64_t entry = estimator.EntryOf(step);
  const TreeName batches{.kind = TreeKind::kBatches, .at = entry}, batch{.kind = TreeKind::kBatch, .at = step};
  const TreeName tree{.kind = TreeKind::kBatchField, .at = step, .index = static_cast<std::uint32_t>(field)};
  const TensorType& type = terms.fields()[field].type;
  const std::uint64_t place[] = {static_cast<std::uint64_t>(step - 1 - terms.StepBefore(entry))}, which[] = {field};
  const std::uint64_t leaf[] = {row * (type.bytes() / static_cast<std::uint64_t>(type.shape[0])) / kLeafBytes};
  estimator.Descend(batches, place[0]);
  estimator.Round(2 * estimator.Leaves(batches, place));
  estimator.Decide();
  estimator.Descend(batch, field);
  estimator.Round(2 * estimator.Leaves(batch, which));
  estimator.Descend(tree, leaf[0]);
  estimator.Round(2 * estimator.Leaves(tree, leaf));
  estimator.Round(TrueBodyBytes(terms, SamplesQuestion{.step = step, .begin = row, .end = row + 1}));
  return estimator.Take();
}

}  // namespace assay::dispute
