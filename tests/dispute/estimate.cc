#include "estimate.h"

#include <algorithm>
#include <map>
#include <set>

#include "assay/backend/ref/derivation.h"
#include "assay/dispute/examination.h"
#include "assay/merkle/proof.h"
#include "assay/merkle/tree.h"

namespace assay::dispute {
namespace {

class Meter {
 public:
  explicit Meter(const Terms& terms) : terms_(terms) {}
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
  // The body of an answer with these leaves.
  template <class Size>
  std::size_t Leaves(const TreeName& tree, std::span<const std::uint64_t> leaves, const Size& size) const {
    std::size_t bytes = 0;
    for (const LeafSpan& span : SpansOf(leaves)) {
      for (std::uint64_t leaf = span.begin; leaf < span.end; ++leaf) bytes += 8 + size(leaf);
      bytes += 4 + 32 * RangeProofSize(span.begin, span.end, *terms_.TreeSize(tree));
    }
    return bytes;
  }
  std::size_t TensorLeaves(const TreeName& tree, std::span<const std::uint64_t> leaves) const {
    const std::uint64_t bytes = terms_.TensorOf(tree)->bytes();
    return Leaves(tree, leaves,
                  [&](std::uint64_t leaf) { return std::min<std::uint64_t>(kLeafBytes, bytes - leaf * kLeafBytes); });
  }

 private:
  const Terms& terms_;
  Bill bill_;
  bool deciding_ = false;
};

}  // namespace

Bill EstimateBill(const Terms& terms, std::int64_t step, std::size_t node, std::size_t output, std::int64_t element) {
  Meter meter(terms);
  const TreeName log{.kind = TreeKind::kLog};
  const auto entry = static_cast<std::uint64_t>(step / terms.job().commit_every);
  const auto entry_size = [&](std::uint64_t) { return Encode(LogEntry{}).size(); };
  const std::uint64_t ends[] = {0, terms.entries() - 1}, around[] = {entry - 1, entry}, first[] = {0}, at[] = {node};
  meter.Round(2 * meter.Leaves(log, ends, entry_size));
  meter.Descend(log, entry);
  meter.Round(2 * meter.Leaves(log, around, entry_size));
  meter.Round(meter.Leaves({.kind = TreeKind::kBatches, .at = static_cast<std::int64_t>(entry)}, first,
                           [](std::uint64_t) { return 32; }));
  meter.Round(2 * 32);
  const TreeName trace{.kind = TreeKind::kTrace, .at = step};
  meter.Descend(trace, node);
  meter.Decide();
  meter.Round(2 * meter.Leaves(trace, at, [&](std::uint64_t n) { return Encode(BlankRecord(terms.nodes(), n)).size(); }));

  const OpInstance op = terms.nodes().Instance(node);
  const auto number = static_cast<std::uint32_t>(node);
  const TreeName tree{.kind = TreeKind::kOutput, .at = step, .node = number, .index = static_cast<std::uint32_t>(output)};
  const std::uint64_t leaf[] = {static_cast<std::uint64_t>(element) * SizeOf(op.out[output].dtype) / kLeafBytes};
  meter.Descend(tree, leaf[0]);
  meter.Round(2 * meter.TensorLeaves(tree, leaf));
  std::vector<InputRange> needs = op.def->dependencies(op, static_cast<int>(output), {element, element + 1});
  if (ref::LeavesOf(op, needs).size() > kDirectLeaves) {
    const auto derivation = ref::Derive(op, static_cast<int>(output), element);
    ref::Path path;
    ref::Settled settled;
    while (const std::uint32_t parts = derivation->Parts(path)) {
      meter.Round(2 * 4 * parts);
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
    bytes += meter.TensorLeaves(
        {.kind = TreeKind::kInput, .at = step, .node = number, .index = static_cast<std::uint32_t>(input)}, numbers);
  }
  if (!leaves.empty()) meter.Round(bytes);
  return meter.Take();
}

}  // namespace assay::dispute
