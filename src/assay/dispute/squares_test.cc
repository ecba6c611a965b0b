#include "assay/dispute/squares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "assay/dispute/operands.h"
#include "assay/ops/table.h"

namespace assay::dispute {
namespace {

using numerics::DoubleDouble;

TEST(SquaresTree, PartsAddUpToTheWhole) {
  std::mt19937 random(1);
  for (const std::int64_t n :
       {std::int64_t{4097}, std::int64_t{40000}, std::int64_t{512 * 4096}, std::int64_t{512 * 4096 + 1}}) {
    std::vector<float> x(static_cast<std::size_t>(n));
    for (float& v : x) v = static_cast<float>(random()) * 0x1p-32f - 0.5f;
    const SquaresTree tree(n);
    const Range all = tree.RangeOf({}).value();
    const std::vector<ref::Value> parts = tree.PartsOf(all, x.data());
    ASSERT_EQ(parts.size(), tree.Parts(all) * SquaresTree::kWords);
    EXPECT_LE(parts.size(), ref::kMaxParts);
    const DoubleDouble sum = SquaresTree::Join(parts), plain = SquaresTree::OfRun(all, x.data());
    EXPECT_NEAR(numerics::ToDouble(sum), numerics::ToDouble(plain), 1e-25 * numerics::ToDouble(plain));
    // Every part is what its own parts, or its run, give.
    std::int64_t next = 0;
    for (std::uint32_t i = 0; i < tree.Parts(all); ++i) {
      const Range range = tree.RangeOf({i}).value();
      EXPECT_EQ(range.begin, next);
      next = range.end;
      const DoubleDouble value =
          tree.Parts(range) == 0 ? SquaresTree::OfRun(range, x.data()) : SquaresTree::Join(tree.PartsOf(range, x.data()));
      const auto words = std::span(parts).subspan(i * SquaresTree::kWords, SquaresTree::kWords);
      EXPECT_TRUE(std::ranges::equal(SquaresTree::Words(value), words)) << i;
    }
    EXPECT_EQ(next, n);
    EXPECT_FALSE(tree.RangeOf({static_cast<std::uint32_t>(tree.Parts(all))}));
    EXPECT_FALSE(tree.RangeOf({0, 0, 0, 0, 0}));
  }
}

TEST(SquaresTree, WhatIsNotANumberHasOneForm) {
  const DoubleDouble quiet(std::numeric_limits<double>::quiet_NaN(), 1), other(-std::nan("5"), 0);
  EXPECT_EQ(SquaresTree::Words(quiet), SquaresTree::Words(other));
  SquaresTree::Join(SquaresTree::Words(quiet));
}

TEST(Operands, AreTheWordsOfTheSmallOpInOrder) {
  const OpDef& def = Ops()[op::matmul];
  const OpInstance op{.def = &def,
                      .attrs = {std::int64_t{0}, std::int64_t{0}},
                      .in = {{DType::kF32, {3, 5000}}, {DType::kF32, {5000, 7}}},
                      .out = {{DType::kF32, {3, 7}}}};
  std::vector<float> a(15000), b(35000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = -static_cast<float>(i);
  const void* in[] = {a.data(), b.data()};
  const auto operands = Operands::Of(op, 0, 9);  // row 1, column 2
  ASSERT_TRUE(operands);
  ASSERT_EQ(operands->chunks(), 3u);
  std::vector<float> words;
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk) {
    const std::vector<ref::Value> told = operands->Answer({chunk}, in).value();
    for (const ref::Value word : told) words.push_back(std::bit_cast<float>(word));
  }
  ASSERT_EQ(words.size(), 10000u);
  for (std::size_t k = 0; k < 5000; ++k) {
    ASSERT_EQ(words[k], a[5000 + k]);
    ASSERT_EQ(words[5000 + k], b[7 * k + 2]);
  }
  EXPECT_EQ(operands->Answer({}, in)->size(), 3 * Operands::kDigestWords);
  EXPECT_FALSE(operands->Answer({3}, in));
  EXPECT_FALSE(operands->Answer({0, 0}, in));
  const Operands::Place last = operands->At(2, 10000 - 2 * 4096 - 1);
  EXPECT_EQ(last.input, 1u);
  EXPECT_EQ(last.word, 4999u * 7 + 2);
  std::vector<ref::Value> row(5000), column(5000);
  ref::Value* const out[] = {row.data(), column.data()};
  for (std::size_t chunk = 0; chunk < 3; ++chunk) operands->Scatter(chunk, operands->Gather(chunk, in), out);
  for (std::size_t k = 0; k < 5000; ++k) {
    ASSERT_EQ(std::bit_cast<float>(row[k]), words[k]);
    ASSERT_EQ(std::bit_cast<float>(column[k]), words[5000 + k]);
  }
  const OpInstance sum{.def = &Ops()[op::add], .attrs = {}, .in = {op.in[0], op.in[0]}, .out = {op.in[0]}};
  EXPECT_FALSE(Operands::Of(sum, 0, 3)) << "two words, each in a block";
}

}  // namespace
}  // namespace assay::dispute
