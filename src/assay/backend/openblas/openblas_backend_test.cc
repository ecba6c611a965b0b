// The OpenBLAS backend against the formulas in double-double arithmetic: every op, every case.
#include "assay/backend/openblas/openblas_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

#include "assay/backend/openblas/output.h"
#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/formula.h"
#include "support/op_inputs.h"

namespace assay::rounded {
namespace {

// A backend with its pool and hooks.
struct Trainer {
  explicit Trainer(int threads, Options options = {}) : pool(threads) {
    options.hooks = &hooks;
    auto made = MakeOpenBlasBackend(options, pool);
    EXPECT_TRUE(made.has_value()) << made.error().message;
    backend = std::move(*made);
  }
  rounding::Rounder& rounder() const { return *backend->rounder(); }

  ThreadPool pool;
  TestHooks hooks;
  std::unique_ptr<HostBackend> backend;
};

// An op with its inputs, and places for its outputs.
struct Applied {
  Applied(const OpDef& def, const OpCase& c) : op(testkit::CaseInstance(def, c)), inputs(testkit::CaseInputs(def, c)) {
    Fill();
  }
  explicit Applied(OpInstance instance) : op(std::move(instance)) { Fill(); }

  KernelArgs Args() const { return {&op, in, out}; }
  bool HasBound(std::size_t k) const { return op.out[k].dtype == DType::kF32 && op.def->has_bound(); }

  OpInstance op;
  std::vector<Tensor> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;

 private:
  void Fill() {
    for (const TensorType& type : op.out) outputs.emplace_back(type);
    for (const Tensor& t : inputs) in.push_back(t.data());
    for (Tensor& t : outputs) out.push_back(t.data());
  }
};

std::vector<Bytes> BytesOf(const std::vector<Tensor>& tensors) {
  std::vector<Bytes> all;
  for (const Tensor& t : tensors) all.emplace_back(t.bytes().begin(), t.bytes().end());
  return all;
}

// What the hooks saw.
struct Seen {
  std::vector<std::vector<double>> y, e;
  std::vector<std::vector<int>> times;

  explicit Seen(const Applied& applied) {
    for (const TensorType& type : applied.op.out) {
      const auto n = static_cast<std::size_t>(type.elements());
      y.emplace_back(n);
      e.emplace_back(n);
      times.emplace_back(n);
    }
  }
  void Watch(TestHooks& hooks) {
    hooks.observe = [this](std::size_t output, std::int64_t at, std::span<const double> values,
                           std::span<const double> bounds) {
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < values.size(); ++i) {
        y[output][static_cast<std::size_t>(at) + i] = values[i];
        e[output][static_cast<std::size_t>(at) + i] = bounds[i];
        ++times[output][static_cast<std::size_t>(at) + i];
      }
    };
  }

 private:
  std::mutex mutex;
};

bool SameBits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

// A bound that is not a number counts as infinite.
double Limit(double e) { return e == e ? e : std::numeric_limits<double>::infinity(); }

// One output against the truth. `first` is its first position, `decided` the positions of decisions.
void CheckOutput(const Applied& applied, std::size_t k, const Seen& seen, const numerics::Grid& grid, std::uint64_t first,
                 const std::set<std::uint64_t>& decided) {
  const auto n = static_cast<std::size_t>(applied.op.out[k].elements());
  std::vector<True> truth(n);
  if (n > 0) {
    FormulaOf<True>(applied.op.def->index)(applied.Args(), static_cast<int>(k), {0, static_cast<std::int64_t>(n)},
                                           truth.data());
  }
  const std::span<const float> out = applied.outputs[k].Span<float>();
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(seen.times[k][i], 1) << "output " << k << " element " << i;
    const double y = seen.y[k][i], e = seen.e[k][i], x = numerics::ToDouble(truth[i].v) + 0.0;
    if (std::isfinite(x) && std::isfinite(y)) {
      const double distance = std::fabs(numerics::ToDouble(truth[i].v - numerics::DoubleDouble(y)));
      ASSERT_FALSE(distance > e * (1 + 0x1p-10))
          << "output " << k << " element " << i << ": " << y << " is not " << x << " within " << e;
      // A referee takes it that every evaluation is within its own bound of the truth, and that D of every evaluation covers that bound on both sides.
      ASSERT_FALSE(distance > truth[i].e * (1 + 0x1p-10))
          << "output " << k << " element " << i << ": " << y << " is not " << x << " within " << truth[i].e;
      ASSERT_FALSE(Limit(truth[i].e) > Limit(e) * (1 + 0x1p-9))
          << "output " << k << " element " << i << ": " << e << " is less than " << truth[i].e;
    } else if (std::isfinite(e)) {
      ASSERT_TRUE(SameBits(grid.Round(x), grid.Round(y))) << "output " << k << " element " << i << ": " << y << " is not " << x;
    }
    if (!decided.contains(first + i)) {
      ASSERT_TRUE(SameBits(out[i], grid.Round(x)))
          << "output " << k << " element " << i << ": " << out[i] << " is not " << x << ", computed " << y << " within " << e;
    }
  }
}

void CheckExact(const Applied& applied, std::size_t k, const numerics::Grid& grid) {
  const std::int64_t n = applied.op.out[k].elements();
  if (applied.op.out[k].dtype != DType::kF32 || n == 0) return;
  std::vector<double> y(static_cast<std::size_t>(n));
  FormulaOf<double>(applied.op.def->index)(applied.Args(), static_cast<int>(k), {0, n}, y.data());
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(SameBits(applied.outputs[k].Span<float>()[i], grid.Round(y[i]))) << "output " << k << " element " << i;
  }
}

class OpCases : public testing::TestWithParam<OpIndex> {};

TEST_P(OpCases, AreWithinTheirBoundsAndCanBeFollowed) {
  const OpDef& def = Ops()[GetParam()];
  Trainer one(1), two(2);
  two.hooks.perturbation = 0.9;
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    SCOPED_TRACE(c.name);
    Applied applied(def, c);
    Seen seen(applied);
    seen.Watch(one.hooks);
    one.rounder().BeginRecord();
    one.backend->Run(applied.Args());
    const rounding::StepReport report = one.rounder().End();
    const auto log = rounding::DecodeDecisions(report.log, "log");
    ASSERT_TRUE(log.has_value());
    std::set<std::uint64_t> decided;
    for (const rounding::Decision& d : log->decisions) decided.insert(d.position);
    std::uint64_t first = 0;
    for (std::size_t k = 0; k < applied.op.out.size(); ++k) {
      if (applied.HasBound(k)) {
        CheckOutput(applied, k, seen, one.rounder().grid(), first, decided);
        first += static_cast<std::uint64_t>(applied.op.out[k].elements());
      } else {
        CheckExact(applied, k, one.rounder().grid());
      }
      if (HasFatalFailure()) return;
    }
    EXPECT_EQ(report.elements, first);

    const std::vector<Bytes> recorded = BytesOf(applied.outputs);
    for (Tensor& t : applied.outputs) std::fill_n(static_cast<std::uint8_t*>(t.data()), t.type().bytes(), std::uint8_t{0xcd});
    two.rounder().BeginFollow(*log);
    two.backend->Run(applied.Args());
    const rounding::StepReport followed = two.rounder().End();
    EXPECT_FALSE(followed.inadmissible.has_value()) << followed.inadmissible->reason;
    EXPECT_TRUE(BytesOf(applied.outputs) == recorded);
  }
}

// Rows of equal values, large and small: where bounds are infinite, or not numbers, everybody's are.
TEST_P(OpCases, OfEqualValuesHaveBoundsWhereTheRefereeHas) {
  const OpDef& def = Ops()[GetParam()];
  Trainer one(1);
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    SCOPED_TRACE(c.name);
    for (const float value : {1e30f, 1e-30f}) {
      for (const std::size_t kept : {std::size_t{2}, SIZE_MAX}) {
        Applied applied(def, c);
        for (std::size_t i = 0; i < applied.inputs.size(); ++i) {
          if (i != kept && applied.op.in[i].dtype == DType::kF32) std::ranges::fill(applied.inputs[i].Span<float>(), value);
        }
        Seen seen(applied);
        seen.Watch(one.hooks);
        one.rounder().BeginRecord();
        one.backend->Run(applied.Args());
        const auto log = rounding::DecodeDecisions(one.rounder().End().log, "log");
        ASSERT_TRUE(log.has_value());
        std::set<std::uint64_t> decided;
        for (const rounding::Decision& d : log->decisions) decided.insert(d.position);
        std::uint64_t first = 0;
        for (std::size_t k = 0; k < applied.op.out.size(); ++k) {
          if (!applied.HasBound(k)) continue;
          CheckOutput(applied, k, seen, one.rounder().grid(), first, decided);
          first += static_cast<std::uint64_t>(applied.op.out[k].elements());
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

std::vector<OpIndex> AllOps() {
  std::vector<OpIndex> all;
  for (OpIndex op = 0; op < op::kCount; ++op) all.push_back(op);
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, OpCases, testing::ValuesIn(AllOps()),
                         [](const auto& of) { return std::string(Ops()[of.param].name); });

OpInstance MatmulOf(std::int64_t m, std::int64_t k, std::int64_t n) {
  const OpDef& def = Ops()[op::matmul];
  const Attrs attrs{std::int64_t{0}, std::int64_t{0}};
  const std::vector<TensorType> in{{DType::kF32, {m, k}}, {DType::kF32, {k, n}}};
  return {&def, attrs, in, *def.infer(attrs, in)};
}

// Products of odd numbers near 2^12 lie in the middle between two binary32 values.
Applied Midpoints() {
  Applied applied(MatmulOf(64, 1, 48));
  for (const TensorType& type : applied.op.in) {
    Tensor& t = applied.inputs.emplace_back(type);
    for (std::size_t i = 0; i < t.Span<float>().size(); ++i) t.Span<float>()[i] = static_cast<float>(4097 + 2 * i);
  }
  for (const Tensor& t : applied.inputs) applied.in.push_back(t.data());
  return applied;
}

// Sums whose terms cancel: the truth is zero.
Applied Cancelling() {
  Applied applied(MatmulOf(30, 300, 20));
  for (const TensorType& type : applied.op.in) applied.inputs.emplace_back(type);
  const std::span<float> a = applied.inputs[0].Span<float>(), b = applied.inputs[1].Span<float>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = (i / 150 % 2 == 0 ? 1.0f : -1.0f) * testkit::NormalDraw(1, static_cast<std::uint32_t>(i / 300 * 150 + i % 150));
  }
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = testkit::NormalDraw(2, static_cast<std::uint32_t>(i % (150 * 20)));
  for (const Tensor& t : applied.inputs) applied.in.push_back(t.data());
  return applied;
}

class Decisions : public testing::TestWithParam<bool> {
 protected:
  static Applied Make() { return GetParam() ? Cancelling() : Midpoints(); }
};

TEST_P(Decisions, AreFollowedByAnotherEvaluation) {
  Applied applied = Make();
  Trainer one(1);
  one.rounder().BeginRecord();
  one.backend->Run(applied.Args());
  const rounding::StepReport report = one.rounder().End();
  EXPECT_EQ(report.decisions, report.elements);
  const std::vector<Bytes> recorded = BytesOf(applied.outputs);
  for (const double perturbation : {-1.0, 0.5, 1.0}) {
    Trainer two(2);
    two.hooks.perturbation = perturbation;
    ASSERT_TRUE(two.rounder().BeginFollow(report.log, "log").has_value());
    two.backend->Run(applied.Args());
    const rounding::StepReport followed = two.rounder().End();
    EXPECT_FALSE(followed.inadmissible.has_value());
    EXPECT_GT(followed.corrections, 0u);
    EXPECT_EQ(BytesOf(applied.outputs), recorded);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Decisions, testing::Bool(), [](const auto& kind) { return kind.param ? "Wide" : "Narrow"; });

TEST(OpenBlasBackend, RefutesAFalseDecision) {
  Applied applied(Ops()[op::matmul], Ops()[op::matmul].cases().front());
  const auto elements = static_cast<std::uint64_t>(applied.op.out[0].elements());
  for (const rounding::Decision& decision :
       {rounding::Decision{.position = elements - 1, .wide = true, .up = false, .value = 12345.0f},
        rounding::Decision{.position = elements - 1, .wide = false, .up = true, .value = 0}}) {
    Trainer trainer(1);
    // A narrow decision is true for one of its two directions at most where the value is not close.
    std::vector<bool> refuted;
    for (const bool up : {false, true}) {
      rounding::Decision turned = decision;
      turned.up = up && !decision.wide;
      trainer.rounder().BeginFollow({.elements = elements, .decisions = {turned}});
      trainer.backend->Run(applied.Args());
      const rounding::StepReport report = trainer.rounder().End();
      refuted.push_back(report.inadmissible.has_value());
      EXPECT_TRUE(!report.inadmissible || report.inadmissible->element == elements - 1);
    }
    EXPECT_TRUE(refuted[0] || refuted[1]);
  }
}

// exp(gelu_tanh(x)) * gelu_tanh(x), in place of x: values in slots, a result that waits until all nodes have run.
TEST(OpenBlasBackend, GroupsNumberResultsByNodes) {
  constexpr std::int64_t kElements = 5000;
  const TensorType type{DType::kF32, {kElements}};
  const auto instance = [&](OpIndex op, std::vector<TensorType> in) {
    return OpInstance{&Ops()[op], {}, in, *Ops()[op].infer({}, in)};
  };
  const OpInstance gelu = instance(op::gelu_tanh, {type}), exp = instance(op::exp, {type}),
                   mul = instance(op::mul, {type, type});
  Tensor x(type), g(type), e(type), y(type);
  for (std::size_t i = 0; i < kElements; ++i) x.Span<float>()[i] = testkit::NormalDraw(3, static_cast<std::uint32_t>(i));
  const auto run = [](HostBackend& backend, const OpInstance& op, std::vector<const void*> in, void* out) {
    backend.Run({&op, in, {&out, 1}});
  };
  Trainer one(1, {.bits = 26}), two(2, {.bits = 26});
  one.rounder().BeginRecord();
  run(*one.backend, gelu, {x.data()}, g.data());
  run(*one.backend, exp, {g.data()}, e.data());
  run(*one.backend, mul, {e.data(), g.data()}, y.data());
  const rounding::StepReport expected = one.rounder().End();
  EXPECT_EQ(expected.elements, 2 * std::uint64_t{kElements});

  const GroupArgument place{.base = static_cast<char*>(x.data()), .element_bytes = 4};
  const auto slot = [](std::size_t s) { return GroupArgument{.slot = s, .element_bytes = 4}; };
  Group group{.elements = kElements, .nodes = {}, .flushes = {{2, static_cast<char*>(x.data()), 4}}, .slots = 3};
  group.nodes = {{&gelu, {place}, {slot(0)}}, {&exp, {slot(0)}, {slot(1)}}, {&mul, {slot(1), slot(0)}, {slot(2)}}};
  two.rounder().BeginRecord();
  two.backend->RunGroup(group);
  EXPECT_EQ(two.rounder().End().log, expected.log);
  EXPECT_TRUE(std::ranges::equal(x.bytes(), y.bytes()));
}

// Each output of an optimizer takes the place of an input that the others are computed from as well.
TEST(OpenBlasBackend, ComputesInPlace) {
  for (const OpCase& c : Ops()[op::adamw].cases()) {
    SCOPED_TRACE(c.name);
    Applied apart(Ops()[op::adamw], c), inside(Ops()[op::adamw], c);
    for (std::size_t k = 0, input = 0; k < inside.out.size(); ++k, ++input) {
      while (inside.op.in[input] != inside.op.out[k] || (inside.op.def->aligned_inputs >> input & 1) == 0) ++input;
      inside.out[k] = inside.inputs[input].data();
    }
    Trainer trainer(2);
    trainer.backend->Run(apart.Args());
    trainer.backend->Run(inside.Args());
    for (std::size_t k = 0; k < inside.out.size(); ++k) {
      EXPECT_EQ(std::memcmp(inside.out[k], apart.out[k], apart.op.out[k].bytes()), 0) << "output " << k;
    }
  }
}

TEST(OpenBlasBackend, SingleContractionsHaveNoRounder) {
  Applied applied = Midpoints();
  Trainer trainer(2, {.precision = Precision::kFp32});
  EXPECT_EQ(trainer.backend->rounder(), nullptr);
  trainer.backend->Run(applied.Args());
  EXPECT_EQ(applied.outputs[0].Span<float>()[0], 4097.0f * 4097.0f);
}

}  // namespace
}  // namespace assay::rounded
