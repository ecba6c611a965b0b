// Terms of sums that several ops share: elements of inputs at regular places.
#pragma once

#include <cmath>

#include "assay/numerics/fma.h"
#include "assay/semantics/ref/derive_node.h"

namespace assay::ref::derive {

// Elements first, first + stride, ... of an input.
struct Places {
  std::size_t input = 0;
  std::int64_t first = 0, stride = 1;

  void Need(Range steps, NeedList& needs) const {
    if (steps.size() <= 0) return;
    if (stride == 1) {
      needs.Add(static_cast<int>(input), first + steps.begin, steps.size());
    } else {
      needs.AddStrided({.input = static_cast<int>(input),
                        .begin = first + steps.begin * stride,
                        .length = 1,
                        .stride = stride,
                        .repeat = steps.size()});
    }
  }
  float Get(std::int64_t i, Inputs in) const { return in.Floats(input)[first + i * stride]; }
};

// An index in an input, as it is.
inline NodePtr MakeIndex(int input, std::int64_t i) {
  return MakeFormula({.parts = {}, .needs = {One(input, i)}, .rule = [=](Values, Inputs in) {
                        return static_cast<Value>(in.Ints(static_cast<std::size_t>(input))[i]);
                      }});
}

struct PlainSum {
  Places x;
  void Need(Range steps, NeedList& needs) const { x.Need(steps, needs); }
  float Step(float acc, std::int64_t i, Inputs in) const { return acc + x.Get(i, in); }
};

// Of x - shift.
struct SquaresSum {
  Places x;
  float shift = 0.0f;
  void Need(Range steps, NeedList& needs) const { x.Need(steps, needs); }
  float Step(float acc, std::int64_t i, Inputs in) const {
    const float d = x.Get(i, in) - shift;
    return numerics::Fma(d, d, acc);
  }
};

struct DotSum {
  Places x, y;
  void Need(Range steps, NeedList& needs) const {
    x.Need(steps, needs);
    y.Need(steps, needs);
  }
  float Step(float acc, std::int64_t i, Inputs in) const { return numerics::Fma(x.Get(i, in), y.Get(i, in), acc); }
};

}  // namespace assay::ref::derive
