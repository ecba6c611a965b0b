// Derivations (assay/semantics/ref/derivation.h): every value from what it names alone, the root with the reference's bits; few parts and few leaves
// whatever the shapes; any bits from outside survived.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdio>

#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/ref/ref.h"
#include "conformance/derivation_cases.h"
#include "conformance/derivation_walk.h"
#include "conformance/mutants.h"
#include "support/op_inputs.h"

namespace assay::testkit {
namespace {

constexpr std::uint64_t kSeed = 0xde71e;
constexpr std::int64_t kMaxElements = 5000;
constexpr double kMaxFlops = 2e6;

void Report(const char* what, const DerivationCounts& counts) {
  std::printf("%s: seed %llx, %lld values, %zu levels, %u parts, %zu leaves\n", what, static_cast<unsigned long long>(kSeed),
              static_cast<long long>(counts.values), counts.levels, counts.parts, counts.leaves);
}

std::vector<const void*> Pointers(std::span<const Tensor> tensors) {
  std::vector<const void*> pointers;
  for (const Tensor& t : tensors) pointers.push_back(t.data());
  return pointers;
}

TEST(Derivation, EveryCaseOfEveryOp) {
  DerivationCounts all;
  for (std::size_t i = 0; i < Ops().size(); ++i) {
    const OpDef& def = Ops()[static_cast<OpIndex>(i)];
    for (const OpCase& c : def.cases()) {
      Choices choose(kSeed + def.wire_id);
      EXPECT_EQ(CheckDerivations(CaseInstance(def, c), CaseInputs(def, c), choose, all), "") << def.name << "/" << c.name;
    }
  }
  Report("cases", all);
}

// Signed zeros, denormals, tiny and huge numbers here and there; `wild`: infinities and odd NaNs too, so few that they do not reach everything.
void Season(Tensor& tensor, bool wild, Choices& choose) {
  if (tensor.dtype() != DType::kF32 || tensor.elements() == 0) return;
  static constexpr std::array<std::uint32_t, 8> kMild = {0u,          0x80000000u, 1u,          0x80000001u,
                                                         0x007fffffu, 0x807fffffu, 0x1e3ce508u, 0x9e3ce508u};
  static constexpr std::array<std::uint32_t, 4> kWild = {0x7f800000u, 0xff800000u, 0xffc12345u, 0x7f800001u};
  const std::span<float> x = tensor.Span<float>();
  const auto n = static_cast<std::uint32_t>(x.size());
  for (std::uint32_t i = 0; i < n / 8; ++i) x[choose.Below(n)] = std::bit_cast<float>(kMild[choose.Below(8)]);
  for (std::uint32_t i = 0; wild && i < 1 + n / 20000; ++i) x[choose.Below(n)] = std::bit_cast<float>(kWild[choose.Below(4)]);
}

TEST(Derivation, LargerCases) {
  DerivationCounts all;
  for (const auto& [index, c] : LargerCases()) {
    const OpDef& def = Ops()[index];
    const OpInstance op = CaseInstance(def, c);
    Choices choose(kSeed + def.wire_id);
    std::vector<Tensor> inputs = CaseInputs(def, c);
    EXPECT_EQ(CheckDerivations(op, inputs, choose, all), "") << Describe(def, c);
    for (const bool wild : {false, true}) {
      for (Tensor& input : inputs) Season(input, wild, choose);
      EXPECT_EQ(CheckDerivations(op, inputs, choose, all), "") << Describe(def, c) << (wild ? ", wild" : ", mild");
    }
  }
  Report("larger cases", all);
}

TEST(Derivation, ModelsKeepTheLimits) {
  for (const ModelShapes& model : AllModelShapes()) {
    DerivationCounts all;
    for (const auto& [index, c] : model.cases) {
      const OpDef& def = Ops()[index];
      DerivationCounts counts;
      Choices choose(kSeed + def.wire_id);
      EXPECT_EQ(CheckDerivationLimits(CaseInstance(def, c), choose, counts), "") << model.name << ": " << Describe(def, c);
      EXPECT_LE(counts.levels, model.levels) << model.name << ": " << Describe(def, c);
      all.values += counts.values;
      all.levels = std::max(all.levels, counts.levels);
      all.parts = std::max(all.parts, counts.parts);
      all.leaves = std::max(all.leaves, counts.leaves);
    }
    Report(std::string(model.name).c_str(), all);
  }
}

TEST(Derivation, UsesThatNobodyMeant) {
  DerivationCounts limits, data;
  for (std::size_t i = 0; i < Ops().size(); ++i) {
    const OpDef& def = Ops()[static_cast<OpIndex>(i)];
    for (const OpCase& c : MutantsOf(def)) {
      const std::optional<OpInstance> op = Accepted(def, c);
      if (!op) continue;
      Choices choose(kSeed + def.wire_id);
      EXPECT_EQ(CheckDerivationLimits(*op, choose, limits), "") << Describe(def, c);
      bool small = def.cost(*op).flops <= kMaxFlops;
      for (const TensorType& type : op->in) small &= type.elements() <= kMaxElements;
      for (const TensorType& type : op->out) small &= type.elements() <= kMaxElements;
      if (!small) continue;
      EXPECT_EQ(CheckDerivations(*op, CaseInputs(def, c), choose, data), "") << Describe(def, c);
    }
  }
  Report("mutants' limits", limits);
  Report("mutants' values", data);
}

// The gradient of a maximum is about equality, which random numbers do not show.
TEST(Derivation, RowMaxGradOfEqualElements) {
  const OpDef& def = Ops()[op::row_max_grad];
  const std::int64_t n = 70000;
  const TensorType x{DType::kF32, {2, n}}, y{DType::kF32, {2}};
  const OpInstance op{&def, {std::int64_t{1}}, {x, y, y}, {x}};
  for (const float maximum : {3.0f, std::bit_cast<float>(0xffc12345u)}) {
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{40000}, n - 1}) {
      std::vector<Tensor> in;
      in.emplace_back(x);
      in.emplace_back(y);
      in.emplace_back(y);
      for (std::int64_t i = 0; i < n; ++i) {
        in[0].Span<float>()[static_cast<std::size_t>(i)] = i == first || i == 50000 ? maximum : 1.0f;
        in[0].Span<float>()[static_cast<std::size_t>(n + i)] = maximum;
      }
      for (std::size_t row : {0u, 1u}) {
        in[1].Span<float>()[row] = maximum;
        in[2].Span<float>()[row] = 5.0f;
      }
      const std::vector<const void*> pointers = Pointers(in);
      for (const std::int64_t i : {std::int64_t{0}, first, std::int64_t{50000}, n - 1, n, n + 40000}) {
        const auto derivation = ref::Derive(op, 0, i);
        const bool expected = i < n ? i == std::min(first, std::int64_t{50000}) : i == n;
        EXPECT_EQ(ref::EvaluateDerivation(*derivation, {}, {}, pointers), expected ? 0x40a00000u : 0u) << first << " " << i;
      }
      Choices choose(kSeed);
      DerivationCounts counts;
      EXPECT_EQ(CheckDerivations(op, in, choose, counts), "");
    }
  }
}

TEST(Derivation, AnIdNamesTheRowThatIsFetched) {
  const OpDef& def = Ops()[op::embedding];
  const OpInstance op{&def, {}, {{DType::kF32, {5000, 700}}, {DType::kI32, {3}}}, {{DType::kF32, {3, 700}}}};
  const auto derivation = ref::Derive(op, 0, 1 * 700 + 9);
  ASSERT_EQ(derivation->Parts({}), 2u);
  EXPECT_EQ(ref::LeavesOf(op, derivation->Needs({0}, {{}})), (std::vector<ref::NeededLeaf>{{1, 0}}));
  EXPECT_EQ(ref::LeavesOf(op, derivation->Needs({1}, {{4321}})), (std::vector<ref::NeededLeaf>{{0, (4321 * 700 + 9) / 1024}}));
  const std::vector<const void*> nothing(2, nullptr);
  for (const std::int32_t id : {-1, 5000, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    const ref::Settled settled = {{static_cast<ref::Value>(id)}};
    EXPECT_TRUE(derivation->Needs({1}, settled).empty());
    EXPECT_EQ(derivation->Compute({1}, settled, {}, nothing), 0x7fc00000u) << id;
  }
}

TEST(Derivation, ATargetNamesTheLogitThatIsFetched) {
  const OpDef& def = Ops()[op::cross_entropy];
  const std::int64_t n = 50257;
  const OpInstance op{&def, {}, {{DType::kF32, {8, n}}, {DType::kI32, {8}}}, {{DType::kF32, {8}}, {DType::kF32, {8}}}};
  const auto derivation = ref::Derive(op, 0, 3);
  ASSERT_EQ(derivation->Parts({}), 4u);
  EXPECT_EQ(ref::LeavesOf(op, derivation->Needs({1}, {{50256}})), (std::vector<ref::NeededLeaf>{{0, (3 * n + 50256) / 1024}}));
  const std::vector<const void*> nothing(2, nullptr);
  const auto loss = [&](std::int32_t target) {
    const ref::Value id = static_cast<ref::Value>(target);
    EXPECT_TRUE(derivation->Needs({1}, {{id}}).empty());
    EXPECT_EQ(derivation->Compute({1}, {{id}}, {}, nothing), 0u);
    return derivation->Compute({}, {}, std::vector<ref::Value>{id, 0, 0x3f800000u, 0x3f800000u}, nothing);
  };
  EXPECT_EQ(loss(-1), 0u);
  EXPECT_EQ(loss(-2), 0x7fc00000u);
  EXPECT_EQ(loss(50257), 0x7fc00000u);
  EXPECT_EQ(loss(std::numeric_limits<std::int32_t>::min()), 0x7fc00000u);
}

// What a party has to compute to answer grows with what the element depends on, not faster.
TEST(Derivation, AnswersTakeOnePass) {
  const TensorType rng{DType::kU32, {4}}, q{DType::kF32, {1, 4096, 4, 128}}, k{DType::kF32, {1, 4096, 1, 128}};
  const TensorType lse{DType::kF32, {1, 4, 4096}}, dy{DType::kF32, {16384, 1024}};
  const Attrs causal{std::int64_t{1}, 0.1f, 0.0f, std::int64_t{0}}, by_digits = ops::WithDigits(causal, 3);
  struct Question {
    OpIndex op;
    Attrs attrs;
    std::vector<TensorType> in;
    int output;
    std::int64_t element;
  };
  for (const Question& question : {Question{op::sum_squares, {}, {{DType::kF32, {50257, 768}}}, 0, 0},
                                   {op::matmul, {std::int64_t{1}, std::int64_t{0}}, {dy, dy}, 0, 1234},
                                   {op::cross_entropy, {}, {{DType::kF32, {9, 128256}}, {DType::kI32, {9}}}, 0, 5},
                                   {op::attention, causal, {q, k, k, rng}, 0, q.elements() - 1},
                                   {op::attention_grad, causal, {q, k, k, q, lse, q, rng}, 0, q.elements() - 1},
                                   {op::attention_grad, causal, {q, k, k, q, lse, q, rng}, 1, 7},
                                   {op::matmul, {std::int64_t{1}, std::int64_t{0}, std::int64_t{3}}, {dy, dy}, 0, 1234},
                                   {op::attention, by_digits, {q, k, k, rng}, 0, q.elements() - 1},
                                   {op::attention_grad, by_digits, {q, k, k, q, lse, q, rng}, 0, q.elements() - 1},
                                   {op::attention_grad, by_digits, {q, k, k, q, lse, q, rng}, 1, 7}}) {
    const OpDef& def = Ops()[question.op];
    const OpInstance op{&def, question.attrs, question.in, def.infer(question.attrs, question.in).value()};
    std::vector<Tensor> in;
    std::uint32_t state = 1;
    for (const TensorType& type : op.in) {
      in.emplace_back(type);
      if (type.dtype != DType::kF32) continue;
      for (float& x : in.back().Span<float>()) x = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-24f;
    }
    const std::vector<const void*> pointers = Pointers(in);
    Tensor result(op.out[static_cast<std::size_t>(question.output)]);
    std::vector<void*> out(op.out.size(), nullptr);
    out[static_cast<std::size_t>(question.output)] = result.data();
    const auto start = std::chrono::steady_clock::now();
    ref::Compute(def.index, {&op, pointers, out}, question.output, {question.element, question.element + 1});
    const auto middle = std::chrono::steady_clock::now();
    const auto derivation = ref::Derive(op, question.output, question.element);
    const std::vector<ref::Value> parts = ref::PartsOf(*derivation, {}, {}, pointers);
    const std::chrono::duration<double> once = middle - start, answer = std::chrono::steady_clock::now() - middle;
    EXPECT_EQ(derivation->Compute({}, {}, parts, pointers),
              result.Span<ref::Value>()[static_cast<std::size_t>(question.element)]);
    std::printf("%s: reference %.3f s, parts %.3f s\n", std::string(def.name).c_str(), once.count(), answer.count());
    EXPECT_LT(answer.count(), 8 * once.count() + 0.3) << def.name;
  }
}

}  // namespace
}  // namespace assay::testkit
