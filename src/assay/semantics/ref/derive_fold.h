// Chains: a value carried from step to step. Part i is the value after chunk i of the steps, so that each chunk can be checked alone.
#pragma once

#include <algorithm>

#include "assay/semantics/ref/derive_node.h"

namespace assay::ref::derive {

// The value after steps `steps`, which starts as `start`. At most `segment` steps are taken at once.
//
// Terms: void Need(Range steps, NeedList&) const; Value Run(Value start, Range steps, Inputs) const.
template <class Terms>
class Fold final : public Node {
 public:
  Fold(Terms terms, Value start, Range steps, std::int64_t segment)
      : terms_(std::move(terms)), start_(start), steps_(steps), segment_(segment) {}

  std::uint32_t parts() const override {
    return steps_.size() <= segment_ ? 0 : static_cast<std::uint32_t>(CeilDiv(steps_.size(), chunk()));
  }
  NodePtr Part(std::uint32_t i, Values before) const override {
    const std::int64_t begin = steps_.begin + i * chunk();
    const Range steps{begin, std::min(begin + chunk(), steps_.end)};
    return std::make_unique<Fold>(terms_, i == 0 ? start_ : At(before, std::int64_t{i} - 1), steps, segment_);
  }
  void Needs(NeedList& needs) const override {
    if (steps_.size() <= segment_) terms_.Need(steps_, needs);
  }
  Value Compute(Values parts, Inputs in) const override {
    return parts.empty() ? terms_.Run(start_, steps_, in) : parts.back();
  }

 private:
  std::int64_t chunk() const { return ChunkOf(steps_.size(), segment_); }

  Terms terms_;
  Value start_;
  Range steps_;
  std::int64_t segment_;
};

template <class Terms>
NodePtr MakeFold(Terms terms, Value start, Range steps, std::int64_t segment) {
  return std::make_unique<Fold<Terms>>(std::move(terms), start, steps, segment);
}

// A chain of floats, one step after the other. Terms: void Need(Range, NeedList&) const; float Step(float acc, std::int64_t i, Inputs) const.
template <class Terms>
struct Chain {
  Terms terms;

  void Need(Range steps, NeedList& needs) const { terms.Need(steps, needs); }
  Value Run(Value start, Range steps, Inputs in) const {
    float acc = Float(start);
    for (std::int64_t i = steps.begin; i < steps.end; ++i) acc = terms.Step(acc, i, in);
    return Bits(acc);
  }
};

// The maximum of elements first, first + stride, ... of an input, of equal ones the first. It starts with element 0, whatever `start` is.
struct MaxOf {
  int input = 0;
  std::int64_t first = 0, stride = 1;

  void Need(Range steps, NeedList& needs) const {
    if (stride == 1) {
      needs.Add(input, first + steps.begin, steps.size());
    } else {
      needs.AddStrided(
          {.input = input, .begin = first + steps.begin * stride, .length = 1, .stride = stride, .repeat = steps.size()});
    }
  }
  Value Run(Value start, Range steps, Inputs in) const {
    const float* x = in.Floats(static_cast<std::size_t>(input)) + first;
    float m = steps.begin == 0 ? x[0] : Float(start);
    for (std::int64_t i = steps.begin; i < steps.end; ++i) m = numerics::Max(m, x[i * stride]);
    return Bits(m);
  }
};

// Consecutive elements are taken so many at once: 16 leaves and a little.
inline constexpr std::int64_t kRun = 16384;

}  // namespace assay::ref::derive
