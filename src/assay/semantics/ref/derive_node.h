// The values of a derivation (derivation.h) as nodes of a tree that is grown while one walks down it. A node is made by the node above it, from the
// values of the parts that stand before it, and keeps of them what it needs; so nothing here deals with paths.
//
// Pure; thread safe.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "assay/base/check.h"
#include "assay/numerics/scalar.h"
#include "assay/semantics/ref/derivation.h"

namespace assay::ref::derive {

// The most parts of any value; a longer list is cut into a list of lists.
inline constexpr std::int64_t kFanOut = 256;

// The values of parts, in order: of those before a part, or of all.
using Values = std::span<const Value>;

inline Value Bits(float x) { return std::bit_cast<Value>(numerics::CanonicalNan(x)); }
inline float Float(Value bits) { return std::bit_cast<float>(bits); }
// The tree has the same form whatever the values are, so it can be walked without them.
inline Value At(Values values, std::int64_t i) {
  return static_cast<std::uint64_t>(i) < values.size() ? values[static_cast<std::size_t>(i)] : 0;
}
inline float FloatAt(Values values, std::int64_t i) { return Float(At(values, i)); }

inline std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How many steps each part of a list of n steps covers: `unit`, or as much more as keeps the parts within kFanOut.
inline std::int64_t ChunkOf(std::int64_t n, std::int64_t unit, std::int64_t fan_out = kFanOut) {
  std::int64_t chunk = unit;
  while (n > fan_out * chunk) chunk *= fan_out;
  return chunk;
}

// Pointers to element 0 of each input.
class Inputs {
 public:
  explicit Inputs(std::span<const void* const> in) : in_(in) {}
  const float* Floats(std::size_t k) const { return static_cast<const float*>(in_[k]); }
  const std::int32_t* Ints(std::size_t k) const { return static_cast<const std::int32_t*>(in_[k]); }
  std::span<const void* const> all() const { return in_; }

 private:
  std::span<const void* const> in_;
};

// Input elements, neighbours joined where they are named one after the other.
class NeedList {
 public:
  void Add(int input, std::int64_t begin, std::int64_t length = 1) {
    if (length <= 0) return;
    for (auto last = ranges_.rbegin(); last != ranges_.rend() && last - ranges_.rbegin() < kRecent; ++last) {
      if (last->input != input || last->repeat != 1) continue;
      if (begin < last->begin || begin > last->begin + last->length) continue;
      last->length = std::max(last->length, begin + length - last->begin);
      return;
    }
    AddStrided({.input = input, .begin = begin, .length = length});
  }
  void AddStrided(const InputRange& range) { ranges_.push_back(range); }
  std::vector<InputRange>& ranges() { return ranges_; }

 private:
  static constexpr std::ptrdiff_t kRecent = 8;  // ops read that many inputs in turn
  std::vector<InputRange> ranges_;
};

class Node {
 public:
  virtual ~Node() = default;

  virtual std::uint32_t parts() const { return 0; }
  // Part i, given the values of the parts before it.
  virtual std::unique_ptr<Node> Part(std::uint32_t, Values) const { CheckFailed("a value with parts", __FILE__, __LINE__); }
  // What Compute reads.
  virtual void Needs(NeedList& needs) const = 0;
  virtual Value Compute(Values parts, Inputs in) const = 0;
  // Whether the elements that the parts need are the same whatever the values before them are.
  virtual bool fixed() const { return true; }
};

using NodePtr = std::unique_ptr<Node>;

// A value made of a few unlike parts and a few input elements.
class Formula final : public Node {
 public:
  using Maker = std::function<NodePtr(Values before)>;
  using Rule = std::function<Value(Values parts, Inputs in)>;

  struct Spec {
    std::vector<Maker> parts;
    std::vector<InputRange> needs;
    Rule rule;
    bool fixed = true;
  };
  explicit Formula(Spec spec) : spec_(std::move(spec)) {}

  std::uint32_t parts() const override { return static_cast<std::uint32_t>(spec_.parts.size()); }
  NodePtr Part(std::uint32_t i, Values before) const override { return spec_.parts[i](before); }
  void Needs(NeedList& needs) const override {
    for (const InputRange& range : spec_.needs) needs.Add(range.input, range.begin, range.length);
  }
  Value Compute(Values parts, Inputs in) const override { return spec_.rule(parts, in); }
  bool fixed() const override { return spec_.fixed; }

 private:
  Spec spec_;
};

// A value with the parts of another, which a last operation and a few input elements turn into this one.
class Finish final : public Node {
 public:
  using Rule = std::function<Value(Value value, Inputs in)>;

  Finish(NodePtr value, std::vector<InputRange> needs, Rule rule)
      : value_(std::move(value)), needs_(std::move(needs)), rule_(std::move(rule)) {}

  std::uint32_t parts() const override { return value_->parts(); }
  NodePtr Part(std::uint32_t i, Values before) const override { return value_->Part(i, before); }
  void Needs(NeedList& needs) const override {
    value_->Needs(needs);
    for (const InputRange& range : needs_) needs.Add(range.input, range.begin, range.length);
  }
  Value Compute(Values parts, Inputs in) const override { return rule_(value_->Compute(parts, in), in); }
  bool fixed() const override { return value_->fixed(); }

 private:
  NodePtr value_;
  std::vector<InputRange> needs_;
  Rule rule_;
};

// Element `i` of an input.
inline InputRange One(int input, std::int64_t i) { return {.input = input, .begin = i, .length = 1}; }

inline NodePtr MakeFormula(Formula::Spec spec) { return std::make_unique<Formula>(std::move(spec)); }

}  // namespace assay::ref::derive
