// How one element of an op's output comes about, cut into values small enough for a referee to check one of them (docs/formats/derivation.md,
// docs/formats/dispute.md).
//
// A derivation is a tree of values. Its root is the element itself. A value follows from its parts, from the parts that stand before it or
// before one of its ancestors ("settled" values), and from a few input elements. Two parties who disagree about an element disagree about the first
// of its parts that differs, or about how the value follows from equal parts; so they descend to one value that needs a few blocks of the inputs.
//
// The tree depends on the op's types and attributes alone; which inputs a value needs may depend on settled values, since an index has to be
// known before the row that it names can be fetched. Values are the bits of a float, or of an index, with NaN in its one form. Pure; thread safe.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "assay/semantics/kernel_args.h"

namespace assay::ref {

// From the root down, which part; empty: the root.
using Path = std::vector<std::uint32_t>;

using Value = std::uint32_t;

// What is agreed when the value at a path is asked for: settled[d] are the values of the parts before path[d], in order.
using Settled = std::vector<std::vector<Value>>;

// The most parts that a value has, and the most blocks of 4 KiB that a value without parts needs: what a message may hold.
inline constexpr std::uint32_t kMaxParts = 4096;
inline constexpr std::size_t kMaxNeededLeaves = 64;

class Derivation {
 public:
  virtual ~Derivation() = default;

  // 0: the value follows from settled values and inputs.
  virtual std::uint32_t Parts(const Path& path) const = 0;

  // The input elements that Compute reads for this value, beside its parts and the settled values.
  virtual std::vector<InputRange> Needs(const Path& path, const Settled& settled) const = 0;

  // The value. `parts` has Parts(path) values; `in` points at element 0 of each input, of which only what Needs names is there. Values come from
  // outside: any bits must be survived.
  virtual Value Compute(const Path& path, const Settled& settled, std::span<const Value> parts,
                        std::span<const void* const> in) const = 0;
};

// The derivation of element `element` of output `output`; null where the op's dependencies of one element are few enough for any shape, so that it
// is computed at once. The op must outlive it.
std::unique_ptr<Derivation> Derive(const OpInstance& op, int output, std::int64_t element);

// The value at `path`, all the way from the inputs, of which everything below it is there.
Value EvaluateDerivation(const Derivation& derivation, const Path& path, const Settled& settled,
                         std::span<const void* const> in);
// The values of its parts, in order: what an honest party answers.
std::vector<Value> PartsOf(const Derivation& derivation, const Path& path, const Settled& settled,
                           std::span<const void* const> in);

// A block of 4 KiB (kLeafBytes) of an input.
struct NeededLeaf {
  int input = 0;
  std::int64_t leaf = 0;
  friend auto operator<=>(const NeededLeaf&, const NeededLeaf&) = default;
};

// The leaves that hold the ranges, each once, in ascending order.
std::vector<NeededLeaf> LeavesOf(const OpInstance& op, std::span<const InputRange> ranges);

}  // namespace assay::ref
