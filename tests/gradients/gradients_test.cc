// Is it the right function, and the right derivative? Bits are the conformance suite's business; this one compares with FP64.
//
// OP.CASE/forward: the reference against the oracle. Each output element must lie within 2e-5 of the larger of its own size and the output's
//   root mean square; integers must be equal. rope's angles are binary32, so it is given 1e-6 more for each position.
// OP.CASE/gradient: L = sum(w * first output), with random w, differentiated by Gradients() and run on the reference, against central finite
//   differences of the oracle in double. Each element must lie within 1e-4 of the largest one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <string>

#include "assay/graph/autodiff.h"
#include "assay/ops/builder.h"
#include "assay/ops/digits.h"
#include "oracle/oracle.h"
#include "support/interpret.h"
#include "support/op_inputs.h"

namespace assay::testkit {
namespace {

constexpr double kGradientTolerance = 1e-4;
// Operands of two digits are rounded to 15 bits of the largest in a block.
constexpr double kTwoDigits = 1e-3;
constexpr std::uint32_t kWeightStream = 0x77656967;

double ForwardTolerance(const OpDef& def, const OpCase& c) {
  // Differences of scores go through exp, and in the cases of attention_grad probabilities may be far above 1.
  const int digits = ops::DigitsOf(def, c.attrs);
  const bool attends = def.index == op::attention || def.index == op::attention_grad;
  if (digits != 0 && attends) return digits == 2 ? 4e-2 : 2e-4;
  if (digits == 2) return kTwoDigits;
  const std::int64_t last_position = def.index == op::rope ? c.attrs.Int(1) + c.in[0].shape[1] : 0;
  return 2e-5 + 1e-6 * static_cast<double>(last_position);
}

// Inputs that the op treats as constants: its gradient rule gives nothing for them.
bool IsConstant(const OpDef& def, std::size_t input) { return def.index == op::batchnorm_infer && input >= 3; }

// NaN, infinity and values of all sizes say nothing about a formula, so cases that contain them are drawn anew without.
OpCase WithoutSpecials(OpCase c) {
  std::replace(c.fill.begin(), c.fill.end(), Fill::kSpecial, Fill::kNormal);
  std::replace(c.fill.begin(), c.fill.end(), Fill::kRuns, Fill::kNormal);
  return c;
}

oracle::Arrays ToArrays(std::span<const Tensor> tensors) {
  oracle::Arrays arrays;
  for (const Tensor& t : tensors) arrays.push_back(oracle::ToArray(t));
  return arrays;
}

// Empty, or the element that is furthest off.
std::string Compare(const oracle::Array& got, const oracle::Array& want, const std::function<double(double)>& allowed) {
  if (got.size() != want.size()) return fmt::format("{} elements, expected {}", got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool both_nan = std::isnan(got[i]) && std::isnan(want[i]);
    const bool overflow = std::isinf(got[i]) && std::abs(want[i]) > std::numeric_limits<float>::max() && got[i] * want[i] > 0;
    if (both_nan || overflow || got[i] == want[i] || std::abs(got[i] - want[i]) <= allowed(want[i])) continue;
    return fmt::format("element {}: got {}, expected {}", i, got[i], want[i]);
  }
  return {};
}

double RootMeanSquare(const oracle::Array& x) {
  double sum = 0;
  std::size_t n = 0;
  for (double v : x) {
    if (!std::isfinite(v)) continue;
    sum += v * v;
    ++n;
  }
  return n == 0 ? 0 : std::sqrt(sum / static_cast<double>(n));
}

double MaxNorm(const oracle::Array& x) {
  double most = 0;
  for (double v : x) most = std::max(most, std::abs(v));
  return most;
}

Graph OneNode(const OpDef& def, const OpCase& c) {
  GraphBuilder b(Ops());
  std::vector<ValueId> in;
  for (std::size_t k = 0; k < c.in.size(); ++k) in.push_back(b.Input(std::to_string(k), c.in[k]));
  const std::vector<ValueId> out = b.Add(def.index, c.attrs, in);
  for (std::size_t k = 0; k < out.size(); ++k) b.Output(std::to_string(k), out[k]);
  return std::move(b).Finish();
}

class ForwardTest final : public ::testing::Test {
 public:
  ForwardTest(const OpDef& def, const OpCase& c) : def_(def), c_(WithoutSpecials(c)) {}
  void TestBody() override {
    const std::vector<Tensor> inputs = CaseInputs(def_, c_);
    const Graph graph = OneNode(def_, c_);
    const std::vector<Tensor> values = Interpret(graph, inputs);
    const oracle::Arrays want = oracle::Forward(graph.Instance(graph.nodes()[0]), ToArrays(inputs));
    for (std::size_t k = 0; k < want.size(); ++k) {
      const Tensor& got = values[graph.outputs()[k].value];
      const double tolerance = got.dtype() == DType::kF32 ? ForwardTolerance(def_, c_) : 0;
      const double rms = RootMeanSquare(want[k]);
      EXPECT_EQ(Compare(oracle::ToArray(got), want[k], [&](double w) { return tolerance * std::max(std::abs(w), rms); }), "")
          << "output " << k;
    }
  }

 private:
  const OpDef& def_;
  OpCase c_;
};

class GradientTest final : public ::testing::Test {
 public:
  GradientTest(const OpDef& def, OpCase c) : def_(def), c_(std::move(c)), op_(CaseInstance(def, c_)) {}

  void TestBody() override {
    std::vector<Tensor> inputs = CaseInputs(def_, c_);
    Tensor weights(op_.out[0]);
    std::uint32_t i = 0;
    for (float& w : weights.Span<float>()) w = NormalDraw(kWeightStream, i++);
    const oracle::Array w = oracle::ToArray(weights);
    oracle::Arrays point = ToArrays(inputs);

    std::vector<std::size_t> wrt;
    for (std::size_t k = 0; k < c_.in.size(); ++k) {
      if (c_.in[k].dtype == DType::kF32 && !IsConstant(def_, k)) wrt.push_back(k);
    }
    const Graph graph = GradientGraph(wrt);
    inputs.push_back(std::move(weights));
    const std::vector<Tensor> values = Interpret(graph, inputs);
    for (std::size_t o = 0; o < wrt.size(); ++o) {
      const oracle::Array want = FiniteDifferences(point, wrt[o], w);
      const oracle::Array got = oracle::ToArray(values[graph.outputs()[o].value]);
      const double tolerance = ops::DigitsOf(def_, c_.attrs) == 2 ? kTwoDigits : kGradientTolerance;
      const double allowed = tolerance * MaxNorm(want) + 1e-7;
      EXPECT_EQ(Compare(got, want, [&](double) { return allowed; }), "") << "gradient of input " << wrt[o];
    }
  }

 private:
  Graph GradientGraph(const std::vector<std::size_t>& wrt) const {
    GraphBuilder b(Ops());
    OpBuilder ops(b);
    std::vector<ValueId> in;
    for (std::size_t k = 0; k < c_.in.size(); ++k) in.push_back(b.Input(std::to_string(k), c_.in[k]));
    const ValueId w = b.Input("w", op_.out[0]);
    const ValueId out = b.Add(def_.index, c_.attrs, in).front();
    const ValueId loss = ops.RowSum(ops.Mul(out, w), 0);
    std::vector<ValueId> values;
    for (std::size_t k : wrt) values.push_back(in[k]);
    const std::vector<ValueId> gradients = Gradients(b, loss, values, kAutodiffOps);
    for (std::size_t o = 0; o < wrt.size(); ++o) b.Output(fmt::format("d{}", wrt[o]), gradients[o]);
    return std::move(b).Finish();
  }

  double Loss(const oracle::Arrays& point, const oracle::Array& w) const {
    const oracle::Array out = oracle::Forward(op_, point).front();
    double loss = 0;
    for (std::size_t i = 0; i < out.size(); ++i) loss += w[i] * out[i];
    return loss;
  }

  oracle::Array FiniteDifferences(oracle::Arrays& point, std::size_t input, const oracle::Array& w) const {
    oracle::Array d;
    for (double& x : point[input]) {
      const double at = x;
      const double h = 1e-5 * std::max(1.0, std::abs(at));
      x = at + h;
      const double above = Loss(point, w);
      x = at - h;
      const double below = Loss(point, w);
      x = at;
      d.push_back((above - below) / (2 * h));
    }
    return d;
  }

  const OpDef& def_;
  OpCase c_;
  OpInstance op_;
};

class CoverageTest final : public ::testing::Test {
 public:
  explicit CoverageTest(const OpDef& def) : def_(def) {}
  void TestBody() override {
    const std::vector<OpCase> cases = def_.cases();
    const bool covered = std::any_of(cases.begin(), cases.end(), [](const OpCase& c) { return c.gradient; });
    const bool takes_nothing = std::all_of(cases.begin(), cases.end(), [](const OpCase& c) { return c.in.empty(); });
    EXPECT_TRUE(def_.gradient == nullptr || covered || takes_nothing)
        << def_.name << " has a gradient rule and no case that checks it";
  }

 private:
  const OpDef& def_;
};

template <class Make>
void Register(std::string_view suite, const std::string& name, Make make) {
  ::testing::RegisterTest(std::string(suite).c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__, make);
}

}  // namespace
}  // namespace assay::testkit

int main(int argc, char** argv) {
  using namespace assay;
  using namespace assay::testkit;
  ::testing::InitGoogleTest(&argc, argv);
  int forward = 0;
  int gradient = 0;
  for (std::size_t i = 0; i < Ops().size(); ++i) {
    const OpDef& def = Ops()[static_cast<OpIndex>(i)];
    Register(def.name, "coverage", [&def]() -> ::testing::Test* { return new CoverageTest(def); });
    for (const OpCase& c : def.cases()) {
      ++forward;
      Register(def.name, c.name + "/forward", [&def, c]() -> ::testing::Test* { return new ForwardTest(def, c); });
      if (!c.gradient || def.gradient == nullptr) continue;
      ++gradient;
      Register(def.name, c.name + "/gradient", [&def, c]() -> ::testing::Test* { return new GradientTest(def, c); });
    }
  }
  std::printf("gradients: %d cases against FP64, %d gradients against finite differences\n", forward, gradient);
  return RUN_ALL_TESTS();
}
