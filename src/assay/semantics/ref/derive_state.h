// A state of a few values carried through blocks, such as a running maximum, sum and output.
#pragma once

#include <array>
#include <bit>

#include "assay/semantics/ref/derive_node.h"

namespace assay::ref::derive {

inline constexpr std::size_t kMaxComponents = 3;
using State = std::array<Value, kMaxComponents>;

// What one block does to a state. Component c follows from the block, the state before it, and lower components after it.
class Recurrence {
 public:
  virtual ~Recurrence() = default;
  // The components that component c follows from, as bits, c among them.
  virtual std::uint32_t Uses(std::size_t component) const = 0;
  virtual NodePtr Block(std::size_t component, std::int64_t block, const State& before, const State& after) const = 0;
};

// The state after blocks `blocks`, or one component of it. Its parts are the components of the state after each block, in order: after block 0, after
// block 1, ...; with more than 64 blocks, after each 64 (64², ...) of them.
class StateNode final : public Node {
 public:
  using Rule = std::function<Value(const State& last)>;

  // `components`: those that `rule` reads, with all that they use.
  StateNode(std::shared_ptr<const Recurrence> recurrence, std::uint32_t components, Range blocks, const State& start, Rule rule)
      : recurrence_(std::move(recurrence)), components_(components), blocks_(blocks), start_(start), rule_(std::move(rule)) {}

  std::uint32_t parts() const override { return static_cast<std::uint32_t>(CeilDiv(blocks_.size(), chunk()) * width()); }

  NodePtr Part(std::uint32_t i, Values before) const override {
    const std::int64_t number = i / width();
    const std::size_t component = ComponentAt(i % width());
    const Range blocks{blocks_.begin + number * chunk(), std::min(blocks_.begin + (number + 1) * chunk(), blocks_.end)};
    const State start = number == 0 ? start_ : After(number - 1, before);
    if (chunk() == 1) return recurrence_->Block(component, blocks.begin, start, After(number, before));
    return std::make_unique<StateNode>(recurrence_, recurrence_->Uses(component), blocks, start,
                                       [component](const State& last) { return last[component]; });
  }

  void Needs(NeedList&) const override {}
  Value Compute(Values parts, Inputs) const override {
    return rule_(After(static_cast<std::int64_t>(parts.size()) / width() - 1, parts));
  }

 private:
  static constexpr std::int64_t kStates = 64;

  std::int64_t chunk() const { return ChunkOf(blocks_.size(), 1, kStates); }
  std::int64_t width() const { return std::popcount(components_); }

  std::size_t ComponentAt(std::int64_t place) const {
    std::size_t component = 0;
    for (;; ++component) {
      if ((components_ >> component & 1) != 0 && place-- == 0) return component;
    }
  }
  State After(std::int64_t number, Values values) const {
    State state{};
    std::int64_t at = number * width();
    for (std::size_t c = 0; c < kMaxComponents; ++c) {
      if ((components_ >> c & 1) != 0) state[c] = At(values, at++);
    }
    return state;
  }

  std::shared_ptr<const Recurrence> recurrence_;
  std::uint32_t components_;
  Range blocks_;
  State start_;
  Rule rule_;
};

}  // namespace assay::ref::derive
