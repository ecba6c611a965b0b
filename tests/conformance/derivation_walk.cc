#include "conformance/derivation_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "assay/merkle/tree.h"
#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/ref/ref.h"

namespace assay::testkit {
namespace {

using ref::Derivation;
using ref::NeededLeaf;
using ref::Path;
using ref::Settled;
using ref::Value;

constexpr std::uint32_t kPreferredParts = 256;
constexpr std::uint32_t kWalkedParts = 12;  // of one value; more are sampled
constexpr int kElements = 3;                // besides the first and the last
constexpr int kDescents = 12;

std::string Show(const Path& path) {
  std::string text = "root";
  for (const std::uint32_t part : path) text += fmt::format(".{}", part);
  return text;
}

// The ranges lie inside the inputs and in few enough leaves.
std::string CheckNeeds(const OpInstance& op, std::span<const InputRange> needs, std::vector<NeededLeaf>& leaves) {
  for (const InputRange& range : needs) {
    if (range.input < 0 || static_cast<std::size_t>(range.input) >= op.in.size())
      return fmt::format("no input {}", range.input);
    const std::int64_t elements = op.in[static_cast<std::size_t>(range.input)].elements();
    const std::int64_t last = range.begin + (range.repeat - 1) * range.stride + range.length;
    if (range.begin < 0 || range.length < 1 || range.repeat < 1 || range.stride < 0 || last > elements) {
      return fmt::format("input {} of {} elements: range {} + {} elements x {} stride {}", range.input, elements, range.begin,
                         range.length, range.repeat, range.stride);
    }
  }
  leaves = ref::LeavesOf(op, needs);
  if (leaves.size() > ref::kMaxNeededLeaves) return fmt::format("{} leaves", leaves.size());
  return {};
}

// Inputs of which only some leaves are there.
class Disclosure {
 public:
  explicit Disclosure(std::span<const Tensor> inputs) : real_(inputs) {
    for (const Tensor& t : inputs) {
      shown_.push_back(t.Clone());
      Hide(0, shown_.back().mutable_bytes(), shown_.back().dtype());
    }
    for (const Tensor& t : shown_) pointers_.push_back(t.data());
  }
  std::span<const void* const> in() const { return pointers_; }

  void Show(std::span<const NeededLeaf> leaves) {
    for (const NeededLeaf& leaf : leaves) {
      const auto to = Bytes(leaf);
      std::memcpy(to.data(), real_[static_cast<std::size_t>(leaf.input)].bytes().data() + Offset(leaf), to.size());
    }
  }
  void HideAgain(std::span<const NeededLeaf> leaves) {
    for (const NeededLeaf& leaf : leaves) {
      Hide(Offset(leaf), Bytes(leaf), real_[static_cast<std::size_t>(leaf.input)].dtype());
    }
  }

 private:
  static std::size_t Offset(const NeededLeaf& leaf) { return static_cast<std::size_t>(leaf.leaf) * kLeafBytes; }
  std::span<std::uint8_t> Bytes(const NeededLeaf& leaf) {
    const auto all = shown_[static_cast<std::size_t>(leaf.input)].mutable_bytes();
    return all.subspan(Offset(leaf), std::min(kLeafBytes, all.size() - Offset(leaf)));
  }
  // NaN and huge numbers; indices far outside.
  static void Hide(std::size_t offset, std::span<std::uint8_t> bytes, DType dtype) {
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      const bool odd = ((offset + i) / 4) % 2 != 0;
      const std::uint32_t poison =
          dtype == DType::kF32 ? (odd ? std::bit_cast<std::uint32_t>(3e38f) : 0x7fc12345u) : (odd ? 0x7ffffff1u : 0x80000007u);
      std::memcpy(bytes.data() + i, &poison, 4);
    }
  }

  std::span<const Tensor> real_;
  std::vector<Tensor> shown_;
  std::vector<const void*> pointers_;
};

class Walk {
 public:
  Walk(const OpInstance& op, std::span<const Tensor> inputs, Disclosure& disclosure, Choices& choose, DerivationCounts& counts)
      : op_(op), disclosure_(disclosure), choose_(choose), counts_(counts) {
    for (const Tensor& t : inputs) real_.push_back(t.data());
    for (const TensorType& type : op.in) has_integer_ |= type.dtype == DType::kI32;
    has_integer_ |= ops::DigitsOf(op) != 0;
  }

  std::string Element(const Derivation& derivation, Value expected) {
    path_.clear();
    settled_.clear();
    const Value root = ref::EvaluateDerivation(derivation, {}, {}, real_);
    if (root != expected) return fmt::format("evaluates to {:08x}, expected {:08x}", root, expected);
    return Visit(derivation, expected);
  }

 private:
  std::string Visit(const Derivation& derivation, Value expected) {
    ++counts_.values;
    counts_.levels = std::max(counts_.levels, path_.size());
    const std::uint32_t parts = derivation.Parts(path_);
    counts_.parts = std::max(counts_.parts, parts);
    if (parts > kPreferredParts) return fmt::format("{}: {} parts", Show(path_), parts);
    const std::vector<Value> values = parts == 0 ? std::vector<Value>{} : ref::PartsOf(derivation, path_, settled_, real_);
    if (values.size() != parts) return fmt::format("{}: {} values of {} parts", Show(path_), values.size(), parts);
    if (std::string error = Recompute(derivation, values, expected); !error.empty()) return Show(path_) + ": " + error;
    for (const std::uint32_t i : Chosen(parts)) {
      path_.push_back(i);
      settled_.emplace_back(values.begin(), values.begin() + i);
      if (std::string error = Visit(derivation, values[i]); !error.empty()) return error;
      settled_.pop_back();
      path_.pop_back();
    }
    return {};
  }

  std::string Recompute(const Derivation& derivation, std::span<const Value> parts, Value expected) {
    std::vector<NeededLeaf> leaves;
    if (std::string error = CheckNeeds(op_, derivation.Needs(path_, settled_), leaves); !error.empty()) return error;
    counts_.leaves = std::max(counts_.leaves, leaves.size());
    disclosure_.Show(leaves);
    const Value got = derivation.Compute(path_, settled_, parts, disclosure_.in());
    disclosure_.HideAgain(leaves);
    if (got != expected) return fmt::format("computed {:08x}, expected {:08x}", got, expected);
    const bool is_nan = (got & 0x7fffffffu) > 0x7f800000u;
    if (is_nan && got != 0x7fc00000u && !has_integer_) return fmt::format("{:08x} is not the canonical NaN", got);
    // Whatever the other values are, this must end well.
    std::vector<Value> hostile(parts.begin(), parts.end());
    for (Value& value : hostile) value = HostileValue(choose_);
    Settled any = settled_;
    for (std::vector<Value>& level : any) {
      for (Value& value : level) value = HostileValue(choose_);
    }
    if (std::string error = CheckNeeds(op_, derivation.Needs(path_, any), leaves); !error.empty()) {
      return "with hostile values: " + error;
    }
    disclosure_.Show(leaves);
    derivation.Compute(path_, any, hostile, disclosure_.in());
    disclosure_.HideAgain(leaves);
    return {};
  }

  std::vector<std::uint32_t> Chosen(std::uint32_t parts) {
    std::vector<std::uint32_t> chosen;
    for (std::uint32_t i = 0; i < parts && parts <= kWalkedParts; ++i) chosen.push_back(i);
    if (parts <= kWalkedParts) return chosen;
    chosen = {0, 1, parts - 1};
    while (chosen.size() < 6) chosen.push_back(choose_.Below(parts));
    std::ranges::sort(chosen);
    chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
    return chosen;
  }

  const OpInstance& op_;
  Disclosure& disclosure_;
  Choices& choose_;
  DerivationCounts& counts_;
  std::vector<const void*> real_;
  bool has_integer_ = false;
  Path path_;
  Settled settled_;
};

// First, last, and some in between; no two of the same number.
std::vector<std::int64_t> ElementsOf(std::int64_t n, Choices& choose) {
  if (n == 0) return {};
  std::vector<std::int64_t> elements = {0, n - 1};
  for (int k = 0; k < kElements; ++k) {
    const std::uint64_t draw = std::uint64_t{choose.Below(1u << 31)} << 20 ^ choose.Below(1u << 31);
    elements.push_back(static_cast<std::int64_t>(draw % static_cast<std::uint64_t>(n)));
  }
  std::ranges::sort(elements);
  elements.erase(std::ranges::unique(elements).begin(), elements.end());
  return elements;
}

// Without a derivation, the declared dependencies of the one element are what it is computed from.
std::string CheckDirect(const OpInstance& op, int output, std::int64_t element, DerivationCounts& counts) {
  std::vector<NeededLeaf> leaves;
  std::string error = CheckNeeds(op, op.def->dependencies(op, output, {element, element + 1}), leaves);
  counts.leaves = std::max(counts.leaves, leaves.size());
  return error;
}

std::string CheckDescents(const OpInstance& op, const Derivation& derivation, Choices& choose, DerivationCounts& counts) {
  for (int k = 0; k < kDescents; ++k) {
    Path path;
    Settled settled;
    for (;;) {
      ++counts.values;
      counts.levels = std::max(counts.levels, path.size());
      const std::uint32_t parts = derivation.Parts(path);
      counts.parts = std::max(counts.parts, parts);
      if (parts > kPreferredParts) return fmt::format("{}: {} parts", Show(path), parts);
      std::vector<NeededLeaf> leaves;
      if (std::string error = CheckNeeds(op, derivation.Needs(path, settled), leaves); !error.empty()) {
        return Show(path) + ": " + error;
      }
      counts.leaves = std::max(counts.leaves, leaves.size());
      if (parts == 0) break;
      const std::uint32_t part = k == 0 ? 0 : k == 1 ? parts - 1 : choose.Below(parts);
      path.push_back(part);
      settled.emplace_back();
      while (settled.back().size() < part) settled.back().push_back(HostileValue(choose));
    }
  }
  return {};
}

}  // namespace

Value HostileValue(Choices& choose) {
  static constexpr std::array<Value, 10> kValues = {0,           0xffffffffu, 0x80000000u, 0x7fffffffu, 0xfffffffeu,
                                                    0x7fc00000u, 0xffc12345u, 0x7f800000u, 0x3f800000u, 50257};
  return choose.OneIn(2) ? kValues[choose.Below(kValues.size())] : choose.Below(0xffffffffu);
}

std::string CheckDerivations(const OpInstance& op, std::span<const Tensor> inputs, Choices& choose, DerivationCounts& counts) {
  Disclosure disclosure(inputs);
  Walk walk(op, inputs, disclosure, choose, counts);
  std::vector<const void*> in;
  for (const Tensor& t : inputs) in.push_back(t.data());
  for (std::size_t k = 0; k < op.out.size(); ++k) {
    const int output = static_cast<int>(k);
    Tensor result(op.out[k]);
    std::vector<void*> out(op.out.size(), nullptr);
    out[k] = result.data();
    for (const std::int64_t element : ElementsOf(op.out[k].elements(), choose)) {
      const auto derivation = ref::Derive(op, output, element);
      std::string error;
      if (derivation == nullptr) {
        error = CheckDirect(op, output, element, counts);
      } else {
        ref::Compute(op.def->index, {&op, in, out}, output, {element, element + 1});
        Value expected = 0;
        std::memcpy(&expected, result.bytes().data() + static_cast<std::size_t>(element) * 4, 4);
        error = walk.Element(*derivation, expected);
      }
      if (!error.empty()) return fmt::format("output {}, element {}: {}", k, element, error);
    }
  }
  return {};
}

std::string CheckDerivationLimits(const OpInstance& op, Choices& choose, DerivationCounts& counts) {
  for (std::size_t k = 0; k < op.out.size(); ++k) {
    const int output = static_cast<int>(k);
    for (const std::int64_t element : ElementsOf(op.out[k].elements(), choose)) {
      const auto derivation = ref::Derive(op, output, element);
      const std::string error =
          derivation == nullptr ? CheckDirect(op, output, element, counts) : CheckDescents(op, *derivation, choose, counts);
      if (!error.empty()) return fmt::format("output {}, element {}: {}", k, element, error);
    }
  }
  return {};
}

}  // namespace assay::testkit
