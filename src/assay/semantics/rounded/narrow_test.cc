// Elements of small ops (ops/narrow.h) against those of the ops that they were cut out of: the same bits, in every number type.
#include "assay/ops/narrow.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "assay/ops/digits.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/formula.h"
#include "conformance/case_run.h"

namespace assay::rounded {
namespace {

using numerics::DoubleDouble;
using ops::Narrowed;
using testkit::CaseRun;

constexpr unsigned kSeed = 20261116;
constexpr std::int64_t kElements = 60;  // of an output

bool SameBits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }
bool SameBits(const DoubleDouble& a, const DoubleDouble& b) { return SameBits(a.hi(), b.hi()) && SameBits(a.lo(), b.lo()); }
template <class V>
bool SameBits(const numerics::Bounded<V>& a, const numerics::Bounded<V>& b) {
  return SameBits(a.v, b.v) && SameBits(a.e, b.e);
}

// The inputs of the small op, with nothing but its pieces in them. Counts their words.
std::vector<std::vector<std::uint32_t>> Cut(const CaseRun& run, const Narrowed& narrowed, std::uint64_t& words) {
  std::vector<std::vector<std::uint32_t>> inputs;
  for (const TensorType& type : narrowed.op.in) inputs.emplace_back(type.bytes() / 4);
  words = 0;
  for (const ops::Piece& piece : narrowed.pieces) {
    const auto* from = static_cast<const std::uint32_t*>(run.inputs[static_cast<std::size_t>(piece.from.input)].data());
    std::vector<std::uint32_t>& to = inputs[static_cast<std::size_t>(piece.input)];
    auto next = static_cast<std::size_t>(piece.to);
    for (std::int64_t r = 0; r < piece.from.repeat; ++r) {
      for (std::int64_t i = 0; i < piece.from.length; ++i, ++words) {
        const std::int64_t at = piece.from.begin + r * piece.from.stride + i;
        EXPECT_LT(at, run.inputs[static_cast<std::size_t>(piece.from.input)].type().elements());
        to.at(next++) = from[at];
      }
    }
  }
  return inputs;
}

template <class T>
T Evaluate(const OpInstance& op, std::span<const void* const> in, int output, std::int64_t element) {
  const std::vector<void*> out(op.out.size(), nullptr);
  T value{};
  FormulaOf<T>(op.def->index)({&op, in, out}, output, {element, element + 1}, &value);
  return value;
}

class SmallForms : public testing::TestWithParam<OpIndex> {};

TEST_P(SmallForms, HaveTheElementsOfTheirOps) {
  std::mt19937_64 random(kSeed);
  const OpDef& def = Ops()[GetParam()];
  for (const OpCase& c : ops::CasesWithoutDigits(def)) {
    const CaseRun run(def, c);
    std::vector<const void*> whole;
    for (const Tensor& input : run.inputs) whole.push_back(input.data());
    const std::uint64_t most = ops::MaxOperandWords(run.op);
    for (std::size_t k = 0; k < run.op.out.size(); ++k) {
      const std::int64_t n = run.op.out[k].elements();
      if (run.op.out[k].dtype != DType::kF32 || n == 0) continue;
      for (std::int64_t trial = 0; trial < std::min(n, kElements); ++trial) {
        std::int64_t element =
            trial < 2 ? trial * (n - 1) : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        if (n <= kElements) element = trial;
        SCOPED_TRACE(fmt::format("{}/{} output {} element {}, seed {}", def.name, c.name, k, element, kSeed));
        const int output = static_cast<int>(k);
        const auto narrowed = ops::Narrow(run.op, output, element);
        if (!narrowed) {
          std::int64_t few = 0;
          for (const InputRange& need : def.dependencies(run.op, output, {element, element + 1}))
            few += need.length * need.repeat;
          ASSERT_TRUE(few <= 16 || GetParam() == op::sum_squares) << few << " words must be listed";
          ASSERT_EQ(most, 0u);
          continue;
        }
        ASSERT_EQ(narrowed->op.in.size(), narrowed->op.def == run.op.def ? run.op.in.size() : 2);
        std::uint64_t words = 0, held = 0;
        const auto inputs = Cut(run, *narrowed, words);
        std::vector<const void*> in;
        for (const auto& input : inputs) {
          in.push_back(input.data());
          held += input.size();
        }
        ASSERT_LE(words, most);
        ASSERT_LE(held, 3 * most + 4);
        ASSERT_LT(narrowed->element, narrowed->op.out[k].elements());
        const OpInstance& small = narrowed->op;
        const std::int64_t at = narrowed->element;
        ASSERT_TRUE(SameBits(Evaluate<double>(run.op, whole, output, element), Evaluate<double>(small, in, output, at)));
        ASSERT_TRUE(SameBits(Evaluate<Near>(run.op, whole, output, element), Evaluate<Near>(small, in, output, at)));
        ASSERT_TRUE(SameBits(Evaluate<True>(run.op, whole, output, element), Evaluate<True>(small, in, output, at)));
      }
    }
  }
}

std::vector<OpIndex> AllOps() {
  std::vector<OpIndex> all;
  for (OpIndex i = 0; i < op::kCount; ++i) all.push_back(i);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Narrow, SmallForms, testing::ValuesIn(AllOps()),
                         [](const testing::TestParamInfo<OpIndex>& tested) { return std::string(Ops()[tested.param].name); });

}  // namespace
}  // namespace assay::rounded
