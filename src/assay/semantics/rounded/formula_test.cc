// The formulas in their three number types: against the reference, against each other, in pieces, and with sums taken in another order.
#include "assay/semantics/rounded/formula.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/rough.h"
#include "conformance/case_run.h"

namespace assay::rounded {
namespace {

using numerics::DoubleDouble;
using numerics::ToDouble;
using testkit::CaseRun;

constexpr double kWidening = 1 + 0x1p-20;
constexpr double kTiny = 0x1p-960;  // far below the grid: what underflows

std::vector<const void*> Pointers(std::span<const Tensor> tensors) {
  std::vector<const void*> pointers;
  for (const Tensor& t : tensors) pointers.push_back(t.data());
  return pointers;
}

// Of an op on inputs, elements `range` of an output.
template <class T>
std::vector<T> Evaluate(const OpInstance& op, std::span<const Tensor> inputs, int output, Range range) {
  const std::vector<const void*> in = Pointers(inputs);
  const std::vector<void*> out(op.out.size(), nullptr);
  std::vector<T> values(static_cast<std::size_t>(range.size()));
  FormulaOf<T>(op.def->index)({&op, in, out}, output, range, values.data());
  return values;
}

template <class T>
std::vector<T> Evaluate(const CaseRun& run, std::size_t output) {
  return Evaluate<T>(run.op, run.inputs, static_cast<int>(output), {0, run.op.out[output].elements()});
}

struct OfOutput {
  std::vector<double> y, e;
};

// All outputs of an op that computes them at once.
std::vector<OfOutput> EvaluateTogether(const CaseRun& run, Range range, bool rough) {
  const std::vector<const void*> in = Pointers(run.inputs);
  const std::vector<void*> out(run.op.out.size(), nullptr);
  std::vector<OfOutput> outputs(run.op.out.size());
  std::vector<double*> y, e;
  for (OfOutput& output : outputs) {
    output.y.resize(static_cast<std::size_t>(range.size()));
    output.e.resize(output.y.size());
    y.push_back(output.y.data());
    if (rough) e.push_back(output.e.data());
  }
  TogetherOf(run.op.def->index)({&run.op, in, out}, range, y, e);
  return outputs;
}

bool Special(const OpCase& c) { return std::find(c.fill.begin(), c.fill.end(), Fill::kSpecial) != c.fill.end(); }

// Calls body(run, output, elements) for each output that holds floats.
template <class Body>
void ForEachOutput(const OpDef& def, Body body) {
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    const CaseRun run(def, c);
    for (std::size_t k = 0; k < run.op.out.size(); ++k) {
      SCOPED_TRACE(fmt::format("{}/{} output {}", def.name, c.name, k));
      if (run.op.out[k].dtype == DType::kF32) body(run, k, static_cast<std::size_t>(run.op.out[k].elements()));
    }
  }
}

class EveryOp : public testing::TestWithParam<OpIndex> {
 protected:
  const OpDef& def() const { return Ops()[GetParam()]; }
};

// Whether element i comes from numbers with which binary32 neither overflows nor underflows on the way.
bool Tame(const CaseRun& run, std::size_t i) {
  if (!Special(run.c)) return true;
  if (!run.def.elementwise) return false;
  for (std::size_t k = 0; k < run.inputs.size(); ++k) {
    if ((run.def.aligned_inputs >> k & 1) == 0 || run.inputs[k].dtype() != DType::kF32) continue;
    const float x = std::fabs(run.inputs[k].Span<float>()[i]);
    if (!(x == 0.0f || (x > 1e-9f && x < 1e9f))) return false;
  }
  return true;
}

// What the reference loses and FP64 does not: by 1 + tanh(u) where that cancels, by products that it rounds and FP64 does not, by exp(-x) that overflows.
double LostInBinary32(const CaseRun& run, std::size_t i) {
  const bool gelu = run.def.name.starts_with("gelu");
  if (!run.def.elementwise && !Special(run.c)) return 0x1p-14;  // sums that are exact in FP64
  if (!gelu && !Special(run.c)) return 0;
  double lost = 0x1p-21;
  for (std::size_t k = 0; k < run.inputs.size(); ++k) {
    if ((run.def.aligned_inputs >> k & 1) != 0) lost *= 1 + std::fabs(double{run.inputs[k].Span<float>()[i]});
  }
  return gelu || run.def.name.starts_with("adam") ? lost : 1e-30;
}

TEST_P(EveryOp, IsCloseToTheReference) {
  ForEachOutput(def(), [](const CaseRun& run, std::size_t k, std::size_t n) {
    const std::vector<double> y = Evaluate<double>(run, k);
    const std::vector<Near> near = Evaluate<Near>(run, k);
    const float* expected = run.expected[k].Span<float>().data();
    for (std::size_t i = 0; i < n; ++i) {
      if (y[i] != y[i]) {
        ASSERT_NE(expected[i], expected[i]) << i;
      } else if (Tame(run, i)) {
        const double fp32 = double{expected[i]};
        ASSERT_EQ(fp32, fp32) << i << ": " << y[i];
        if (std::isinf(fp32)) {
          ASSERT_EQ(std::signbit(y[i]), std::signbit(fp32)) << i;
          ASSERT_GE(std::fabs(y[i]), 0x1.fp127) << i;
        } else {
          // The same errors in units of binary32, and as many again.
          ASSERT_NEAR(y[i], fp32, 8 * near[i].e * 0x1p29 + 0x1p-22 * std::fabs(y[i]) + 0x1p-140 + LostInBinary32(run, i)) << i;
        }
      }
    }
  });
}

// More than the bound, also of what another evaluation sees: whoever is found settled by it is settled.
TEST_P(EveryOp, RoughBoundsAreLarger) {
  const Rough rough = RoughOf(GetParam());
  const Together together = TogetherOf(GetParam());
  if (rough == nullptr && together == nullptr) GTEST_SKIP() << "has none";
  double tightest = 0;
  ForEachOutput(def(), [&](const CaseRun& run, std::size_t k, std::size_t n) {
    const std::vector<double> y = Evaluate<double>(run, k);
    const std::vector<Near> near = Evaluate<Near>(run, k);
    const std::vector<const void*> in = Pointers(run.inputs);
    const std::vector<void*> out(run.op.out.size(), nullptr);
    const Range range{0, static_cast<std::int64_t>(n)};
    std::vector<double> e(n);
    if (rough != nullptr) {
      rough({&run.op, in, out}, static_cast<int>(k), range, y.data(), e.data());
    } else {
      e = EvaluateTogether(run, range, true)[k].e;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (!std::isfinite(y[i]) || !std::isfinite(near[i].e)) continue;
      ASSERT_FALSE(e[i] < near[i].e) << e[i] << " of " << near[i].e << ": " << run.c.name << " output " << k << " element " << i
                                     << " value " << y[i];
      if (e[i] > 0) tightest = std::max(tightest, near[i].e / e[i]);
    }
  });
  fmt::print("{:<22} at most {:.3f} of its rough bound\n", def().name, tightest);
}

// The same bits, whichever way and range.
TEST_P(EveryOp, OutputsTogetherAreThoseOfTheFormula) {
  if (TogetherOf(GetParam()) == nullptr) GTEST_SKIP() << "each by itself";
  ForEachOutput(def(), [&](const CaseRun& run, std::size_t k, std::size_t n) {
    const std::vector<double> y = Evaluate<double>(run, k);
    const auto last = static_cast<std::int64_t>(n);
    for (const Range range : {Range{0, last}, Range{last / 3, last - last / 5}}) {
      for (const bool rough : {false, true}) {
        const std::vector<double> together = EvaluateTogether(run, range, rough)[k].y;
        for (std::size_t i = 0; i < together.size(); ++i) {
          const double expected = y[static_cast<std::size_t>(range.begin) + i];
          if (std::isnan(expected) && std::isnan(together[i])) continue;
          ASSERT_EQ(std::memcmp(&together[i], &expected, sizeof(double)), 0)
              << i << ": " << together[i] << ", not " << expected;
        }
      }
    }
  });
}

struct Spread {
  std::vector<double> relative;  // e / |v|
  double used = 0;               // the largest |difference from the truth| / e

  void Add(double v, double e) {
    if (v != 0) relative.push_back(e / std::fabs(v));
  }
  double Quantile(double part) {
    if (relative.empty()) return 0;
    const auto at = static_cast<std::size_t>(part * static_cast<double>(relative.size() - 1));
    std::nth_element(relative.begin(), relative.begin() + static_cast<std::ptrdiff_t>(at), relative.end());
    return relative[at];
  }
};

TEST_P(EveryOp, KeepsItsBound) {
  Spread spread;
  ForEachOutput(def(), [&](const CaseRun& run, std::size_t k, std::size_t n) {
    const std::vector<double> plain = Evaluate<double>(run, k);
    const std::vector<Near> near = Evaluate<Near>(run, k);
    const std::vector<True> truth = Evaluate<True>(run, k);
    for (std::size_t i = 0; i < n; ++i) {
      const double v = ToDouble(truth[i].v), e = truth[i].e;
      ASSERT_EQ(std::isnan(v), std::isnan(plain[i])) << i;
      ASSERT_EQ(std::isnan(v), std::isnan(near[i].v)) << i;
      if (!std::isfinite(v)) continue;
      if (!Special(run.c)) {
        ASSERT_TRUE(std::isfinite(e)) << i << ": " << v;
        spread.Add(v, e);
      }
      if (!std::isfinite(e)) continue;
      ASSERT_LE(e, near[i].e * (1 + 0x1p-10) + kTiny) << i << ": " << v;
      ASSERT_LE(near[i].e, e * (1 + 0x1p-10) + kTiny) << i << ": " << v;
      for (const double other : {plain[i], near[i].v}) {
        const double distance = std::fabs(ToDouble(truth[i].v - DoubleDouble(other)));
        ASSERT_LE(distance, e * kWidening + kTiny) << i << ": " << v << " and " << other;
        if (e > kTiny) spread.used = std::max(spread.used, distance / e);
      }
    }
  });
  const double median = spread.Quantile(0.5), nearly_all = spread.Quantile(0.99);
  fmt::print("{:22} e/|v|: median {:.1e}, 99% {:.1e}, largest {:.1e}; of e used {:.2f}\n", def().name, median, nearly_all,
             spread.Quantile(1), spread.used);
  EXPECT_LE(median, 1e-11);
  EXPECT_LE(nearly_all, 1e-9);
}

bool SameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }
bool SameBits(const DoubleDouble& a, const DoubleDouble& b) { return SameBits(a.hi(), b.hi()) && SameBits(a.lo(), b.lo()); }
template <class V>
bool SameBits(const numerics::Bounded<V>& a, const numerics::Bounded<V>& b) {
  return SameBits(a.v, b.v) && SameBits(a.e, b.e);
}

template <class T>
void ExpectPiecesGiveTheWhole(const CaseRun& run, std::size_t k, std::int64_t n) {
  const std::vector<T> whole = Evaluate<T>(run, k);
  const std::int64_t some = std::min<std::int64_t>(n, 1000);
  for (const Range range : {Range{0, 1}, Range{n / 3, n / 3 + 1}, Range{n - 1, n}, Range{0, some / 3},
                            Range{n / 2, std::min(n, n / 2 + some)}, Range{n / 3, n / 3}, Range{n - some / 2, n}}) {
    const std::vector<T> part = Evaluate<T>(run.op, run.inputs, static_cast<int>(k), range);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      ASSERT_TRUE(SameBits(part[static_cast<std::size_t>(i - range.begin)], whole[static_cast<std::size_t>(i)]))
          << i << " of [" << range.begin << ", " << range.end << ")";
    }
  }
}

TEST_P(EveryOp, GivesTheSameInPieces) {
  ForEachOutput(def(), [](const CaseRun& run, std::size_t k, std::size_t n) {
    if (n == 0) return;
    ExpectPiecesGiveTheWhole<double>(run, k, static_cast<std::int64_t>(n));
    ExpectPiecesGiveTheWhole<Near>(run, k, static_cast<std::int64_t>(n));
    if (n < 5000) ExpectPiecesGiveTheWhole<True>(run, k, static_cast<std::int64_t>(n));
  });
}

TEST_P(EveryOp, IsRoundedOnceIfExact) {
  if (Ops()[GetParam()].has_bound() || GetParam() == op::dropout) return;
  ForEachOutput(def(), [](const CaseRun& run, std::size_t k, std::size_t n) {
    const std::vector<double> plain = Evaluate<double>(run, k);
    const std::vector<True> truth = Evaluate<True>(run, k);
    for (std::size_t i = 0; i < n; ++i) {
      const double once = ToDouble(truth[i].v);  // without the sign of a zero
      ASSERT_TRUE(plain[i] == once || (plain[i] != plain[i] && once != once)) << i;
    }
  });
}

TEST_P(EveryOp, RunsIntegersExactly) {
  for (const OpCase& c : ops::CasesWithoutDigits(def())) {
    const CaseRun run(def(), c);
    const std::vector<const void*> in = Pointers(run.inputs);
    for (std::size_t k = 0; k < run.op.out.size(); ++k) {
      if (run.op.out[k].dtype == DType::kF32) continue;
      SCOPED_TRACE(fmt::format("{}/{} output {}", def().name, c.name, k));
      Tensor got(run.op.out[k]);
      std::vector<void*> out(run.op.out.size(), nullptr);
      out[k] = got.data();
      const std::int64_t n = run.op.out[k].elements();
      for (const Range range : {Range{n / 2, n}, Range{0, n / 3}, Range{n / 3, n / 2}}) {
        RunExact({&run.op, in, out}, static_cast<int>(k), range);
      }
      EXPECT_TRUE(std::ranges::equal(got.bytes(), run.expected[k].bytes()));
    }
  }
}

std::vector<OpIndex> AllOps() {
  std::vector<OpIndex> all;
  for (OpIndex i = 0; i < op::kCount; ++i) all.push_back(i);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Formula, EveryOp, testing::ValuesIn(AllOps()),
                         [](const testing::TestParamInfo<OpIndex>& tested) { return std::string(Ops()[tested.param].name); });

TEST(Dropout, MultipliesByOneFactor) {
  const OpDef& def = Ops()[op::dropout];
  ForEachOutput(def, [](const CaseRun& run, std::size_t k, std::size_t n) {
    const std::vector<double> y = Evaluate<double>(run, k);
    const double factor = 1.0 / (1.0 - double{run.c.attrs.Float(0)});
    for (std::size_t i = 0; i < n; ++i) {
      const float x = run.inputs[0].Span<float>()[i];
      ASSERT_TRUE(SameBits(y[i], double{x} * factor) || SameBits(y[i], 0.0)) << i;
    }
  });
}

// Inputs and outputs of one op with the elements of its sums in another order.
struct Shuffled {
  OpIndex op;
  std::vector<int> reversed_axis;  // of each input; -1: as it is
  bool reversed_output = false;    // its last axis
};

// Sums of the cases' own numbers are exact in FP64; those of numbers of many sizes are not.
void Stretch(Tensor& tensor) {
  int i = 0;
  for (float& x : tensor.Span<float>()) x = std::ldexp(x, i++ * 7 % 60 - 30);
}

Tensor Reversed(const Tensor& tensor, int axis) {
  Tensor copy = tensor.CopyTo(HostMemory());
  if (axis < 0) return copy;
  const Shape& shape = tensor.type().shape;
  const std::int64_t inner = shape.Product(axis + 1, shape.rank()), extent = shape[axis];
  const std::span<const float> from = tensor.Span<float>();
  for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
    const std::int64_t at = i / inner % extent;
    copy.Span<float>()[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(i + (extent - 1 - 2 * at) * inner)];
  }
  return copy;
}

void ExpectTheSameWithinTheBound(const Shuffled& shuffled) {
  const OpDef& def = Ops()[shuffled.op];
  std::size_t different = 0;
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    if (Special(c) || c.in[0].shape.rank() != 2) continue;
    if (shuffled.op == op::matmul && (c.in[1].shape.rank() != 2 || c.attrs.Int(0) != 0 || c.attrs.Int(1) != 0)) continue;
    if ((shuffled.op == op::row_sum || shuffled.op == op::col_sum) && c.attrs.Int(0) != 1) continue;
    SCOPED_TRACE(fmt::format("{}/{}", def.name, c.name));
    CaseRun run(def, c);
    if (run.op.out[0].elements() == 0) continue;
    if (run.inputs.size() == 1 && !shuffled.reversed_output) Stretch(run.inputs[0]);
    std::vector<Tensor> inputs;
    for (std::size_t k = 0; k < run.inputs.size(); ++k) inputs.push_back(Reversed(run.inputs[k], shuffled.reversed_axis[k]));
    const std::vector<Near> near = Evaluate<Near>(run, 0);
    const std::vector<double> other = Evaluate<double>(run.op, inputs, 0, {0, run.op.out[0].elements()});
    for (std::size_t i = 0; i < other.size(); ++i) {
      const auto width = static_cast<std::size_t>(run.op.out[0].shape.Back(0));
      const std::size_t place = !shuffled.reversed_output ? i : i / width * width + (width - 1 - i % width);
      ASSERT_NEAR(near[place].v, other[i], 2 * near[place].e) << i;
      different += near[place].v != other[i];
    }
  }
  EXPECT_GT(different, 0u);
}

TEST(Formula, OrderOfSumsStaysWithinTheBound) {
  ExpectTheSameWithinTheBound({op::row_sum, {1}});
  ExpectTheSameWithinTheBound({op::col_sum, {0}});
  ExpectTheSameWithinTheBound({op::matmul, {1, 0}});
  ExpectTheSameWithinTheBound({op::softmax, {1}, true});
  ExpectTheSameWithinTheBound({op::softmax_grad, {1, 1}, true});
  ExpectTheSameWithinTheBound({op::layernorm, {1, 0, 0}, true});
  ExpectTheSameWithinTheBound({op::layernorm_grad_x, {1, 0, -1, -1, 1}, true});
  ExpectTheSameWithinTheBound({op::layernorm_grad_params, {0, 0, 0, 0}});
  ExpectTheSameWithinTheBound({op::rmsnorm, {1, 0}, true});
}

}  // namespace
}  // namespace assay::rounded
