// Rules of embedding and embedding_grad.
#include <fmt/format.h>

#include <limits>

#include "assay/ops/define.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kRows[] = {{"rows", AttrKind::kInt}};
constexpr std::int64_t kMaxRows = std::numeric_limits<std::int32_t>::max();

// ids' shape with a last axis of `width` elements.
Result<Shape> Looked(const Shape& ids, std::int64_t width) {
  if (ids.rank() == Shape::kMaxRank) return Err("ids: expected at most {} axes, got {}", Shape::kMaxRank - 1, ids.rank());
  Shape out = ids;
  out.Append(width);
  ASSAY_TRY(ExpectReasonable(out));
  return out;
}

Result<std::vector<TensorType>> InferEmbedding(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 2));
  ASSAY_TRY(ExpectF32Rank(in, 0, 2));
  ASSAY_TRY(ExpectReasonable(in[0].shape));
  ASSAY_TRY(ExpectBetween("table rows", in[0].shape[0], 1, kMaxRows));
  ASSAY_TRY(ExpectAtLeast("table width", in[0].shape[1], 1));
  ASSAY_ASSIGN(const Shape out, Looked(in[1].shape, in[0].shape[1]));
  ASSAY_TRY(ExpectShape(in, 1, I32(in[1].shape)));
  return std::vector{F32(out)};
}

Result<std::vector<TensorType>> InferEmbeddingGrad(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 2));
  ASSAY_TRY(ExpectShape(in, 0, I32(in[0].shape)));
  ASSAY_TRY(ExpectBetween("rows", attrs.Int(0), 1, kMaxRows));
  ASSAY_TRY(RowsOfLastAxis(in[1].shape));
  const std::int64_t width = in[1].shape.Back(0);
  ASSAY_ASSIGN(const Shape dy, Looked(in[0].shape, width));
  ASSAY_TRY(ExpectShape(in, 1, F32(dy)));
  const Shape table{attrs.Int(0), width};
  ASSAY_TRY(ExpectReasonable(table));
  return std::vector{F32(table)};
}

void Gradient(GradientBuilder& g) {
  const std::int64_t rows = g.type(g.input(0)).shape[0];
  g.SetInputGradient(0, g.Emit(op::embedding_grad, {rows}, {g.input(1), g.OutputGradientOrZero(0)}));
}

// Which rows are read depends on the ids, so all are named.
std::vector<InputRange> NeedsEmbedding(const OpInstance& op, int, Range range) {
  const MatrixView table = LastAxisView(op.in[0]);
  std::vector<InputRange> needs;
  NeedColumns(needs, 0, ColumnsOf(range, table.cols), table);
  NeedRange(needs, 1, RowsOf(range, table.cols));
  return needs;
}

std::vector<InputRange> NeedsEmbeddingGrad(const OpInstance& op, int, Range range) {
  const MatrixView dy = LastAxisView(op.in[1]);
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  NeedRange(needs, 0, {0, dy.rows});
  NeedColumns(needs, 1, ColumnsOf(range, dy.cols), dy);
  return needs;
}

struct EmbeddingCase {
  std::string name;
  std::int64_t rows, width;
  Shape ids;
  Fill fill = Fill::kNormal, id_fill = Fill::kIndex;
  bool gradient = false;
};

std::vector<EmbeddingCase> Shapes() {
  std::vector<EmbeddingCase> cases = {
      {"small", 5, 3, {2, 4}, Fill::kNormal, Fill::kIndex, true},
      {"one_id", 7, 5, {}, Fill::kNormal},
      {"no_ids", 7, 5, {0}, Fill::kNormal},
      {"one_row", 1, 9, {70}, Fill::kNormal},
      {"invalid", 11, 6, {60}, Fill::kNormal, Fill::kTarget},
      {"special", 13, 33, {90}, Fill::kSpecial, Fill::kTarget},
      {"large_table", 3000, 48, {200}, Fill::kNormal},
      {"many_ids", 20, 64, {2500}, Fill::kNormal},
  };
  for (std::int64_t width : {1, 31, 32, 100, 768, 1025}) {
    cases.push_back({fmt::format("c{}", width), 17, width, {3, 9}, Fill::kNormal});
  }
  return cases;
}

std::vector<OpCase> ForwardCases() {
  std::vector<OpCase> cases;
  for (const EmbeddingCase& c : Shapes()) {
    cases.push_back({.name = c.name,
                     .in = {F32({c.rows, c.width}), I32(c.ids)},
                     .fill = {c.fill, c.id_fill},
                     .index_limit = c.rows,
                     .gradient = c.gradient});
  }
  return cases;
}

std::vector<OpCase> GradCases() {
  std::vector<OpCase> cases;
  for (const EmbeddingCase& c : Shapes()) {
    cases.push_back({.name = c.name,
                     .attrs = {c.rows},
                     .in = {I32(c.ids), F32(Looked(c.ids, c.width).value())},
                     .fill = {c.id_fill, c.fill},
                     .index_limit = c.rows});
  }
  return cases;
}

}  // namespace

OpDef Define_embedding() {
  return {.infer = InferEmbedding,
          .gradient = Gradient,
          .cost =
              [](const OpInstance& op) {
                return Cost{.flops = 0,
                            .bytes = 2 * static_cast<double>(op.out[0].bytes()) + static_cast<double>(op.in[1].bytes())};
              },
          .dependencies = NeedsEmbedding,
          .cases = ForwardCases};
}

OpDef Define_embedding_grad() {
  return {.attrs = kRows,
          .infer = InferEmbeddingGrad,
          .cost =
              [](const OpInstance& op) {
                return Cost{.flops = static_cast<double>(op.in[1].elements()), .bytes = TouchedBytes(op)};
              },
          .dependencies = NeedsEmbeddingGrad,
          .cases = GradCases};
}

}  // namespace assay::ops
