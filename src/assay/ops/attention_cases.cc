#include "assay/ops/attention_cases.h"

#include <fmt/format.h>

#include "assay/ops/digits.h"

namespace assay::ops {
namespace {

struct Geometry {
  std::string name;
  std::int64_t batch, tq, tk, hq, hkv, d;
  bool causal;
  float dropout = 0.0f;
  bool gradient = false;
  Fill fill = Fill::kNormal;
  int digits = 0;
};

// Lengths around the key block of 64 and the vector widths, widths with tails, groups of heads, more keys than queries, and dropout with
// and without rows that are whole random blocks of four.
std::vector<Geometry> Geometries() {
  return {
      {"one", 1, 1, 1, 1, 1, 1, true},
      {"t2_d2", 2, 2, 2, 1, 1, 2, true},
      {"t63_d8", 1, 63, 63, 2, 2, 8, true},
      {"t64_d64", 2, 64, 64, 3, 3, 64, true},
      {"t65_d33", 1, 65, 65, 2, 1, 33, true},
      {"t100_d128", 1, 100, 100, 2, 2, 128, true},
      {"t130_groups", 1, 130, 130, 6, 2, 16, true},
      {"t200_d20", 1, 200, 200, 1, 1, 20, true},
      {"full_t1", 1, 1, 1, 4, 4, 8, false},
      {"full_t65", 2, 65, 65, 2, 1, 8, false},
      {"full_t130_d64", 1, 130, 130, 1, 1, 64, false},
      {"full_more_queries", 1, 70, 5, 2, 2, 12, false},
      {"full_more_keys", 1, 3, 131, 2, 1, 40, false},
      {"cache_one_query", 2, 1, 129, 4, 2, 64, true},
      {"cache_t7_tk100", 1, 7, 100, 3, 1, 32, true},
      {"cache_t40_tk90", 1, 40, 90, 2, 2, 48, true},
      {"d256", 1, 33, 33, 1, 1, 256, true},
      {"dropout_t64", 2, 64, 64, 2, 2, 16, true, 0.1f},
      {"dropout_t101", 1, 101, 101, 4, 2, 24, true, 0.5f},
      {"dropout_full_t66", 1, 66, 66, 1, 1, 8, false, 0.25f},
      {"special", 1, 70, 70, 2, 1, 9, true, 0.0f, false, Fill::kSpecial},
      {"special_full_dropout", 1, 20, 66, 2, 2, 8, false, 0.3f, false, Fill::kSpecial},
      {"grad_causal", 1, 4, 4, 2, 1, 3, true, 0.0f, true},
      {"grad_full", 2, 3, 4, 2, 2, 2, false, 0.0f, true},
      {"grad_dropout", 1, 3, 5, 2, 1, 2, true, 0.4f, true},
  };
}

// The same shapes by two and by three digits.
std::vector<Geometry> WithDigitsToo() {
  std::vector<Geometry> all = Geometries();
  for (const int digits : {2, 3}) {
    std::vector<Geometry> geometries = Geometries();
    geometries.push_back({"runs", 1, 130, 130, 4, 2, 24, true, 0.1f, false, Fill::kRuns});
    for (Geometry& g : geometries) {
      g.name += fmt::format("_digits{}", digits);
      g.digits = digits;
      all.push_back(std::move(g));
    }
  }
  return all;
}

Attrs AttrsOf(const Geometry& g) {
  return WithDigits({std::int64_t{g.causal}, g.d == 1 ? 0.7f : 0.25f, g.dropout, std::int64_t{5}}, g.digits);
}

}  // namespace

std::vector<OpCase> AttentionCases() {
  std::vector<OpCase> cases;
  for (const Geometry& g : WithDigitsToo()) {
    const TensorType q{DType::kF32, {g.batch, g.tq, g.hq, g.d}};
    const TensorType k{DType::kF32, {g.batch, g.tk, g.hkv, g.d}};
    cases.push_back({.name = g.name,
                     .attrs = AttrsOf(g),
                     .in = {q, k, k, {DType::kU32, {4}}},
                     .fill = {g.fill, g.fill, g.fill, Fill::kRng},
                     .gradient = g.gradient});
  }
  return cases;
}

std::vector<OpCase> AttentionGradCases() {
  std::vector<OpCase> cases;
  for (const Geometry& g : WithDigitsToo()) {
    const TensorType q{DType::kF32, {g.batch, g.tq, g.hq, g.d}};
    const TensorType k{DType::kF32, {g.batch, g.tk, g.hkv, g.d}};
    const TensorType lse{DType::kF32, {g.batch, g.hq, g.tq}};
    cases.push_back({.name = g.name,
                     .attrs = AttrsOf(g),
                     .in = {q, k, k, q, lse, q, {DType::kU32, {4}}},
                     .fill = {g.fill, g.fill, g.fill, g.fill, Fill::kPositive, g.fill, Fill::kRng}});
  }
  return cases;
}

}  // namespace assay::ops
