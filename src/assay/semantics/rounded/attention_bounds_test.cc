#include "assay/semantics/rounded/attention_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "assay/ops/table.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::rounded {
namespace {

using numerics::kUnit;

// What a product in blocks of `block` adds up to: the first block is added to nothing.
double Passes(std::int64_t n, std::int64_t block) { return static_cast<double>(std::min(n, block) + (n - 1) / block); }

TEST(AttentionBounds, DepthsCoverTheKernels) {
  for (const std::int64_t n : {2, 127, 128, 129, 5000, 16383, 16384, 16385, 20000, 1 << 20}) {
    EXPECT_GE(KeysDepth(n), Passes(n, numerics::ContractionBlock(n))) << n;
    EXPECT_GE(KeysDepth(n), numerics::SumDepth(n)) << n;
    EXPECT_LE(KeysDepth(n), numerics::ContractionDepth(n)) << n << ": who writes a log counts no more";
  }
  for (const auto& [heads, tq] : {std::pair<std::int64_t, std::int64_t>{1, 64}, {1, 20000}, {8, 256}, {8, 3000}, {200, 1}}) {
    const ops::AttentionGeometry g{.batch = 1, .tq = tq, .tk = tq, .hq = heads, .hkv = 1, .d = 1};
    const QueryBlocks blocks(g);
    // The last `seen` queries of each head see the key: a part of one block of each, and whole ones.
    for (std::int64_t seen = 1; seen <= tq; seen += std::max<std::int64_t>(1, tq / 37)) {
      const std::int64_t n = heads * seen, touched = heads * (seen / blocks.rows + 2);
      if (n == 1) continue;
      const double most = std::min(static_cast<double>(n - 1), static_cast<double>(std::min(seen, blocks.rows) - 1 + touched));
      EXPECT_GE(QueriesDepth(g, n), std::min(most, blocks.depth))
          << heads << " heads, " << tq << " queries, " << seen << " seen";
      EXPECT_LE(QueriesDepth(g, n), blocks.depth) << heads << " heads, " << tq << " queries, " << seen << " seen";
    }
  }
}

// The law's bound of one query over so many keys that all have the same weight and value, in units.
double BoundOver(std::int64_t keys) {
  const TensorType q{DType::kF32, {1, 1, 1, 1}}, k{DType::kF32, {1, keys, 1, 1}}, rng{DType::kU32, {4}};
  const OpInstance op{.def = &Ops()[op::attention],
                      .attrs = {std::int64_t{0}, 1.0f, 0.0f, std::int64_t{0}},
                      .in = {q, k, k, rng},
                      .out = {q, {DType::kF32, {1, 1, 1}}}};
  const std::vector<float> zeros(static_cast<std::size_t>(keys)), ones(static_cast<std::size_t>(keys), 1.0f);
  const std::array<std::uint32_t, 4> draws{};
  const std::vector<const void*> in = {zeros.data(), zeros.data(), ones.data(), draws.data()};
  const std::vector<void*> out(2, nullptr);
  True value;
  FormulaOf<True>(op::attention)({&op, in, out}, 0, {0, 1}, &value);
  return value.e / kUnit;
}

TEST(AttentionBounds, TheLawCountsTheLongerBlocksOfManyKeys) {
  EXPECT_GE(BoundOver(16384), numerics::ContractionDepth(16384) + numerics::SumDepth(16384));
  EXPECT_LT(BoundOver(16383), 2 * numerics::SumDepth(16383) + 16);
}

}  // namespace
}  // namespace assay::rounded
