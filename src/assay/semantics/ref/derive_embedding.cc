// embedding: first the id, then the element of the row that it names. embedding_grad: a chain over all positions, of which those with another id
// leave the sum as it is. rope: the two elements of a pair.
#include "assay/ops/rules.h"
#include "assay/semantics/ref/derive_fold.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_terms.h"
#include "assay/semantics/ref/rope_element.h"

namespace assay::ref::derive {
namespace {

constexpr std::int64_t kPositionsAtOnce = 16;

NodePtr TableElement(ops::MatrixView table, std::int64_t row, std::int64_t column) {
  const bool valid = row >= 0 && row < table.rows;
  const std::int64_t i = row * table.cols + column;
  return MakeFormula(
      {.parts = {}, .needs = valid ? std::vector{One(0, i)} : std::vector<InputRange>{}, .rule = [=](Values, Inputs in) {
         return valid ? Bits(in.Floats(0)[i]) : Value{numerics::kCanonicalNan};
       }});
}

struct RowsWithId {
  std::int64_t id, column, cols;
  void Need(Range steps, NeedList& needs) const {
    needs.Add(0, steps.begin, steps.size());
    for (std::int64_t p = steps.begin; p < steps.end; ++p) needs.Add(1, p * cols + column);
  }
  float Step(float acc, std::int64_t p, Inputs in) const {
    return in.Ints(0)[p] == id ? acc + in.Floats(1)[p * cols + column] : acc;
  }
};

}  // namespace

NodePtr Derive_embedding(const OpInstance& op, int, std::int64_t element) {
  const ops::MatrixView table = ops::LastAxisView(op.in[0]);
  const std::int64_t position = element / table.cols, column = element % table.cols;
  return MakeFormula(
      {.parts = {[=](Values) { return MakeIndex(1, position); },
                 [=](Values before) { return TableElement(table, static_cast<std::int32_t>(At(before, 0)), column); }},
       .needs = {},
       .rule = [](Values parts, Inputs) { return parts[1]; },
       .fixed = false});
}

NodePtr Derive_embedding_grad(const OpInstance& op, int, std::int64_t element) {
  const std::int64_t cols = op.out[0].shape[1];
  const RowsWithId terms{.id = element / cols, .column = element % cols, .cols = cols};
  return MakeFold(Chain<RowsWithId>{terms}, Bits(0.0f), {0, op.in[0].elements()}, kPositionsAtOnce);
}

NodePtr Derive_rope(const OpInstance& op, int, std::int64_t element) {
  const std::int64_t width = op.in[0].shape[3], half = width / 2;
  const std::int64_t other = element % width < half ? element + half : element - half;
  return MakeFormula({.parts = {}, .needs = {One(0, element), One(0, other)}, .rule = [&op, element](Values, Inputs in) {
                        return Bits(RopeElement(op, in.Floats(0), element));
                      }});
}

}  // namespace assay::ref::derive
