// One element of an op as an element of a small op that holds little more than what it depends on: a product as one row by one column, a batch norm as one
// channel, attention as one head. Whoever disputes an element of a rounded job (docs/formats/dispute.md) tells the words that the small op holds, and a referee
// evaluates that. The formulas of semantics/rounded give the same bits for both, in value and in bound.
//
// Ops whose elements depend on a few words each (elementwise and layout ops, and the like) have no small form. Pure; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/graph/op_def.h"

namespace assay::ops {

// Elements of an input of the op that lie one after the other in an input of the small op.
struct Piece {
  InputRange from{};    // `from.input` is one of the op's
  int input = 0;        // of the small op
  std::int64_t to = 0;  // where the first of them lies there
};

struct Narrowed {
  OpInstance op;  // its output `output` has the element
  std::int64_t element = 0;
  // All that the element depends on, each once, in the order in which the words are told. Where no piece lies an input is zero.
  std::vector<Piece> pieces{};
};

// None: the op has no small form. `element` is one of output `output`, which holds floats.
std::optional<Narrowed> Narrow(const OpInstance& op, int output, std::int64_t element);

// The most words that the pieces of any element of any output hold; 0 for ops without a small form. Inputs of the small op have at most three times as many.
std::uint64_t MaxOperandWords(const OpInstance& op);

}  // namespace assay::ops
