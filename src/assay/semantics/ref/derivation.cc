#include "assay/semantics/ref/derivation.h"

#include <algorithm>
#include <array>
#include <limits>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"
#include "assay/ops/table.h"
#include "assay/semantics/ref/derive_ops.h"

namespace assay::ref {
namespace {

using derive::Inputs;
using derive::NeedList;
using derive::Node;
using derive::NodePtr;
using derive::Values;

using MakeRoot = NodePtr (*)(const OpInstance& op, int output, std::int64_t element);

MakeRoot Lookup(OpIndex op) {
  static constexpr std::array<MakeRoot, op::kCount> kRoots = {
#define ASSAY_ROOT_Elementwise(name) nullptr
#define ASSAY_ROOT_General(name) &derive::Derive_##name
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_ROOT_##kind(name),
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
#undef ASSAY_ROOT_General
#undef ASSAY_ROOT_Elementwise
  };
  return kRoots[op];
}

// Distinct leaves, at most `limit` of them.
class LeafSet {
 public:
  LeafSet(const OpInstance& op, std::size_t limit) : op_(op), limit_(limit) {}

  // False: there are more.
  bool Add(const InputRange& range) {
    const auto size = static_cast<std::int64_t>(SizeOf(op_.in[static_cast<std::size_t>(range.input)].dtype));
    if (range.length <= 0) return true;
    for (std::int64_t r = 0; r < range.repeat; ++r) {
      const std::int64_t begin = range.begin + r * range.stride;
      const std::int64_t last = ((begin + range.length) * size - 1) / kLeaf;
      for (std::int64_t leaf = begin * size / kLeaf; leaf <= last; ++leaf) {
        if (!Insert({range.input, leaf})) return false;
      }
    }
    return true;
  }
  std::vector<NeededLeaf>& leaves() { return leaves_; }

 private:
  static constexpr auto kLeaf = static_cast<std::int64_t>(kLeafBytes);

  bool Insert(const NeededLeaf& leaf) {
    const auto at = std::ranges::lower_bound(leaves_, leaf);
    if (at != leaves_.end() && *at == leaf) return true;
    if (leaves_.size() == limit_) return false;
    leaves_.insert(at, leaf);
    return true;
  }

  const OpInstance& op_;
  std::size_t limit_;
  std::vector<NeededLeaf> leaves_;
};

// A value whose whole tree needs no more than this has no parts: it is computed at once.
constexpr std::size_t kAtOnce = 32;

// Everything that the node and all nodes below it need; false: it lies in too many leaves, or depends on values.
bool Gather(const Node& node, LeafSet& leaves, NeedList& all) {
  if (!node.fixed()) return false;
  NeedList needs;
  node.Needs(needs);
  for (const InputRange& range : needs.ranges()) {
    if (!leaves.Add(range)) return false;
    all.AddStrided(range);
  }
  for (std::uint32_t i = 0; i < node.parts(); ++i) {
    if (!Gather(*node.Part(i, {}), leaves, all)) return false;
  }
  return true;
}

// Joins what overlaps or touches.
std::vector<InputRange> Joined(std::vector<InputRange> ranges) {
  std::ranges::sort(ranges, {}, [](const InputRange& r) { return std::tuple(r.repeat != 1, r.input, r.begin); });
  std::vector<InputRange> joined;
  for (const InputRange& range : ranges) {
    InputRange* last = joined.empty() ? nullptr : &joined.back();
    if (last != nullptr && range.repeat == 1 && last->input == range.input && range.begin <= last->begin + last->length) {
      last->length = std::max(last->length, range.begin + range.length - last->begin);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

Value Evaluate(const Node& node, Inputs in) {
  std::vector<Value> values;
  values.reserve(node.parts());
  for (std::uint32_t i = 0; i < node.parts(); ++i) values.push_back(Evaluate(*node.Part(i, values), in));
  return node.Compute(values, in);
}

class TreeDerivation final : public Derivation {
 public:
  TreeDerivation(const OpInstance& op, NodePtr root) : op_(op), root_(std::move(root)) {}

  std::uint32_t Parts(const Path& path) const override {
    const Place place = Find(path, {});
    NeedList all;
    return AtOnce(*place.node, all) ? 0 : place.node->parts();
  }

  std::vector<InputRange> Needs(const Path& path, const Settled& settled) const override {
    const Place place = Find(path, settled);
    NeedList needs;
    if (!AtOnce(*place.node, needs)) {
      needs = {};
      place.node->Needs(needs);
    }
    return Joined(std::move(needs.ranges()));
  }

  Value Compute(const Path& path, const Settled& settled, std::span<const Value> parts,
                std::span<const void* const> in) const override {
    const Place place = Find(path, settled);
    if (!parts.empty()) {
      ASSAY_CHECK(parts.size() == place.node->parts());
      return place.node->Compute(parts, Inputs(in));
    }
    NeedList all;
    ASSAY_CHECK(AtOnce(*place.node, all));
    return Evaluate(*place.node, Inputs(in));
  }

 private:
  // A node and, unless it is the root, its owner.
  struct Place {
    NodePtr owned;
    const Node* node;
  };

  Place Find(const Path& path, const Settled& settled) const {
    Place place{nullptr, root_.get()};
    for (std::size_t d = 0; d < path.size(); ++d) {
      ASSAY_CHECK(path[d] < place.node->parts());
      place.owned = place.node->Part(path[d], d < settled.size() ? Values(settled[d]) : Values());
      place.node = place.owned.get();
    }
    return place;
  }

  bool AtOnce(const Node& node, NeedList& all) const {
    if (node.parts() == 0) {
      node.Needs(all);
      return true;
    }
    LeafSet leaves(op_, kAtOnce);
    return Gather(node, leaves, all);
  }

  const OpInstance& op_;
  NodePtr root_;
};

// Both walk with one path and one list of settled values, which grow and shrink.
Value EvaluateAt(const Derivation& derivation, Path& path, Settled& settled, std::span<const void* const> in);

std::vector<Value> PartsAt(const Derivation& derivation, std::uint32_t parts, Path& path, Settled& settled,
                           std::span<const void* const> in) {
  path.push_back(0);
  settled.emplace_back();
  for (std::uint32_t i = 0; i < parts; ++i) {
    path.back() = i;
    const Value value = EvaluateAt(derivation, path, settled, in);
    settled.back().push_back(value);
  }
  std::vector<Value> values = std::move(settled.back());
  settled.pop_back();
  path.pop_back();
  return values;
}

Value EvaluateAt(const Derivation& derivation, Path& path, Settled& settled, std::span<const void* const> in) {
  const std::uint32_t parts = derivation.Parts(path);
  if (parts == 0) return derivation.Compute(path, settled, {}, in);
  return derivation.Compute(path, settled, PartsAt(derivation, parts, path, settled, in), in);
}

}  // namespace

std::unique_ptr<Derivation> Derive(const OpInstance& op, int output, std::int64_t element) {
  ASSAY_CHECK(output >= 0 && static_cast<std::size_t>(output) < op.out.size());
  ASSAY_CHECK(element >= 0 && element < op.out[static_cast<std::size_t>(output)].elements());
  const MakeRoot make = Lookup(op.def->index);
  NodePtr root = make == nullptr ? nullptr : make(op, output, element);
  return root == nullptr ? nullptr : std::make_unique<TreeDerivation>(op, std::move(root));
}

Value EvaluateDerivation(const Derivation& derivation, const Path& path, const Settled& settled,
                         std::span<const void* const> in) {
  Path p = path;
  Settled s = settled;
  return EvaluateAt(derivation, p, s, in);
}

std::vector<Value> PartsOf(const Derivation& derivation, const Path& path, const Settled& settled,
                           std::span<const void* const> in) {
  Path p = path;
  Settled s = settled;
  return PartsAt(derivation, derivation.Parts(path), p, s, in);
}

std::vector<NeededLeaf> LeavesOf(const OpInstance& op, std::span<const InputRange> ranges) {
  LeafSet leaves(op, std::numeric_limits<std::size_t>::max());
  for (const InputRange& range : ranges) leaves.Add(range);
  return std::move(leaves.leaves());
}

}  // namespace assay::ref
