// Bounds of single elements that are cheaper and larger than those of their formulas, as in rough.cc, where they are derived, for devices. Pure.
#pragma once

#include <cmath>
#include <limits>

#include "assay/semantics/rounded/formula.h"
#include "assay/semantics/rounded/optimizers.h"

namespace assay::rounded {

// |2u| of gelu_tanh, or a little more.
ASSAY_HD inline double RoughInner(double magnitude) { return 1.6 * magnitude * (1 + 0.045 * magnitude * magnitude); }

ASSAY_HD inline double RoughGeluTanh(float x, double y) {
  return std::fabs(y) * (32 * numerics::kUnit * RoughInner(std::fabs(double{x})) + 0x1p-48);
}

ASSAY_HD inline double RoughGeluTanhGrad(float x, float dy) {
  const double magnitude = std::fabs(double{x});
  const double terms = 1 + 1.6 * magnitude * (1 + 0.14 * magnitude * magnitude);
  return std::fabs(double{dy}) * terms * (64 * numerics::kUnit * RoughInner(magnitude) + 0x1p-47);
}

// What all elements of an sgd have in common: 32 units of each of an output's terms.
struct RoughSgd {
  double decay, damped, of_rest[2];
};

// A momentum beyond one multiplies the terms, twice where it is Nesterov's.
ASSAY_HD inline RoughSgd RoughSgdOf(float momentum, float dampening, float weight_decay, float lr) {
  const double most = std::fabs(double{momentum}) > 1 ? std::fabs(double{momentum}) : 1.0;
  return {.decay = std::fabs(double{weight_decay}),
          .damped = 1 + std::fabs(double{dampening}),
          .of_rest = {64 * numerics::kUnit * std::fabs(double{lr}) * most * most, 32 * numerics::kUnit * most}};
}

ASSAY_HD inline double RoughSgdElement(const RoughSgd& r, double factor, int output, double p, double grad, double moment) {
  const double g = std::fabs(grad * factor) + r.decay * std::fabs(p);
  const double rest = r.of_rest[output] * (std::fabs(moment) + r.damped * g);
  return output == 0 ? 32 * numerics::kUnit * std::fabs(p) + rest : rest;
}

// Of the moments, sixteen units of their terms. `gradient` is what they are made of: the magnitudes of its own terms, which may cancel.
ASSAY_HD inline double RoughFirstMoment(double before, double gradient) {
  return 16 * numerics::kUnit * (std::fabs(before) + std::fabs(gradient));
}
ASSAY_HD inline double RoughSecondMoment(double before, double gradient) {
  return 16 * numerics::kUnit * (std::fabs(before) + gradient * gradient);
}

// Of what is subtracted from the parameter, relatively, by the errors of all but the first moment.
ASSAY_HD inline double RoughMove(const AdamScalars<Near>& s) {
  const auto relative = [](const Near& x) {
    if (x.e == 0) return 0.0;
    return x.magnitude() > 0 ? x.e / x.magnitude() : std::numeric_limits<double>::infinity();
  };
  return 2 * (relative(s.root2) + relative(s.lr1)) + 32 * numerics::kUnit;
}

// An element of adam on the way: the magnitude of the gradient's terms, the denominator of the move, the move and the parameter after it.
struct AdamPlain {
  double gradient, denominator, move, p;
};

// The first moment is off by 16 units of its terms |m| + |g|, hence the move by lr1 / denominator times as much, however little of the moment is left. The quotient is taken in
// binary32, of a denominator that is no greater than it is; twice the error is more than that loses. A second moment below zero may cancel: nothing is said then.
ASSAY_HD inline double RoughParameter(double of_move, double lr1, double p, double m, double v, const AdamPlain& after) {
  if (v < 0) return std::numeric_limits<double>::infinity();
  constexpr float kMost = std::numeric_limits<float>::max();
  const auto narrow = static_cast<float>(after.denominator);
  const double inverse = 1.0f / (narrow < kMost ? narrow : kMost);
  return 8 * numerics::kUnit * (std::fabs(p) + std::fabs(after.p)) + std::fabs(after.move) * of_move +
         2 * RoughFirstMoment(m, after.gradient) * std::fabs(lr1) * inverse;
}

}  // namespace assay::rounded
