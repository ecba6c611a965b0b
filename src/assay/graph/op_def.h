// What the graph layer needs to know about an op. The ops themselves are declared one layer down, in ops/; graph code receives them
// as an OpTable and never names one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"
#include "assay/graph/attrs.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct OpDef;
class Graph;

// An index into the op table; dense, in table order. Never stored: files and hashes carry OpDef::wire_id.
using OpIndex = std::uint16_t;

// A half-open range of element indices in a tensor's row-major order.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// `repeat` runs of `length` elements of input `input`, the first at `begin`, the next `stride` further on.
struct InputRange {
  int input = 0;
  std::int64_t begin = 0;
  std::int64_t length = 0;
  std::int64_t stride = 0;
  std::int64_t repeat = 1;
};

// One op applied: definition, attributes, the types that go in and come out. All that a kernel may know beside the data.
struct OpInstance {
  const OpDef* def = nullptr;
  Attrs attrs;
  std::vector<TensorType> in;
  std::vector<TensorType> out;
};

struct Cost {
  double flops = 0;  // FMA counts two
  double bytes = 0;  // read and written once
};

// How a test case fills an input.
enum class Fill : std::uint8_t {
  kNormal,    // standard normal
  kPositive,  // uniform in [0.1, 2)
  kSpecial,   // normal mixed with NaN, +-0, denormals, infinities, huge and tiny values
  kRuns,  // runs of 97 values of one kind: normal, zeros, denormals, one huge among normal ones, all equal, huge, tiny, one NaN or infinity
  kIndex,   // i32 in [0, limit)
  kTarget,  // i32 in [0, limit) mixed with -1, -2, limit and the extreme values
  kRng,     // u32[4] random state: seed low, seed high, step, microbatch
  kStep,    // i64 step number >= 1
};

struct OpCase {
  std::string name;  // unique within the op; printable in a test filter
  Attrs attrs{};
  std::vector<TensorType> in{};
  std::vector<Fill> fill{};      // one per input
  std::int64_t index_limit = 0;  // for kIndex
  // Whether the gradient check uses this case: small, smooth at the points drawn.
  bool gradient = false;
};

// Which values a gradient rule may use and how it emits nodes. See graph/autodiff.h for the implementation.
class GradientBuilder;

using ValueId = std::uint32_t;

// How an op's results come about when it is evaluated in FP64 and rounded (docs/ROUNDING.md).
enum class Results : std::uint8_t {
  kMoved,  // values of its inputs, zeros and constants, in other places
  kExact,  // from exact binary32 values by one IEEE operation, or (dropout) by several that nothing can fuse or reorder: all machines agree on the FP64 value
  kBounded,  // anything else: evaluations differ, within a bound
};

struct OpDef {
  OpIndex index = 0;  // its place in the table
  std::string_view name{};
  std::uint16_t wire_id = 0;
  std::uint16_t version = 0;  // bumped whenever the op's bits change; hashed into every program

  // An elementwise op computes element i of each output from element i of its aligned inputs (and, whole, from the others);
  // all outputs and aligned inputs have the same number of elements. Such ops may be fused and may run in place.
  bool elementwise = false;
  Results results = Results::kBounded;
  bool has_bound() const { return results == Results::kBounded; }  // otherwise there is one right value, rounded or not
  std::uint32_t aligned_inputs = 0;                                // bit k: input k is aligned; meaningful for elementwise ops

  std::span<const AttrSpec> attrs{};

  // Output types, or why the inputs and attributes do not fit together. Must reject everything that a kernel could not
  // handle: programs come from outside.
  Result<std::vector<TensorType>> (*infer)(const Attrs& attrs, std::span<const TensorType> in) = nullptr;

  // Emits the gradient with ops of the table. Null: not differentiable (a gradient or optimizer op).
  void (*gradient)(GradientBuilder& g) = nullptr;

  Cost (*cost)(const OpInstance& op) = nullptr;

  // Every input element that elements `range` of output `output` depend on; may be a superset, must never be less.
  std::vector<InputRange> (*dependencies)(const OpInstance& op, int output, Range range) = nullptr;

  std::vector<OpCase> (*cases)() = nullptr;
};

// The table, in index order. Constant for the life of the program.
class OpTable {
 public:
  explicit OpTable(std::span<const OpDef* const> defs) : defs_(defs) {}
  std::size_t size() const { return defs_.size(); }
  const OpDef& operator[](OpIndex index) const { return *defs_[index]; }
  std::optional<OpIndex> FindWireId(std::uint16_t wire_id) const;
  std::optional<OpIndex> FindName(std::string_view name) const;

 private:
  std::span<const OpDef* const> defs_;
};

}  // namespace assay
