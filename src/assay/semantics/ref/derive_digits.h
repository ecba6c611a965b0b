// Sums by digits as trees (docs/NUMERICS.md, section 7; docs/formats/derivation.md): digitsum, and a block of rows with weights. Integers are values in two's
// complement. Settled values may be anything, so nothing here relies on a block's greatest magnitude being the right one.
#pragma once

#include <functional>

#include "assay/semantics/ref/derive_node.h"

namespace assay::ref::derive {

// Which element of an input value k of a block is; outside the image: none, the value is 0.
using DigitPlace = std::function<std::int64_t(std::int64_t k)>;
inline constexpr std::int64_t kNoPlace = -1;

// One operand of a product of blocks.
struct DigitOperand {
  int input = 0;
  DigitPlace factor;  // the values that are multiplied
  DigitPlace shared;  // the values that share the scale; at least those
  std::int64_t shared_count = 0;
};

// A product of blocks: what a block contributes to a digitsum.
struct DigitProduct {
  int digits = 0;
  DigitOperand a, b;
  std::int64_t count = 0;  // of products
};

// The digitsum over `blocks` blocks. The maker must outlive nothing but itself: it is kept.
NodePtr MakeDigitSum(std::function<DigitProduct(std::int64_t block)> product, std::int64_t blocks);

// The total in one column after a block of rows with weights.
struct WeightedBlock {
  int digits = 0;
  std::int64_t count = 0;                             // of rows
  std::function<NodePtr(std::int64_t k)> weight;      // the tree of weight k
  int input = 0;                                      // which holds the rows
  std::function<std::int64_t(std::int64_t k)> begin;  // the first element of row k
  std::int64_t width = 0, column = 0;
  float before = 0.0f;  // the total
};
NodePtr MakeWeightedBlock(WeightedBlock block);

}  // namespace assay::ref::derive
