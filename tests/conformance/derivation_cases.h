// Uses of ops for the tests of derivations. The cases of the op table are small; most of them are derived at once.
#pragma once

#include <string_view>
#include <vector>

#include "assay/graph/op_def.h"

namespace assay::testkit {

struct DerivationCase {
  OpIndex op = 0;
  OpCase c;
};

// Large enough for every level of every tree, small enough for data.
std::vector<DerivationCase> LargerCases();

// The ops of a model at its size; types only.
struct ModelShapes {
  std::string_view name;
  std::size_t levels = 0;  // the most that a derivation may have
  std::vector<DerivationCase> cases;
};
std::vector<ModelShapes> AllModelShapes();

}  // namespace assay::testkit
