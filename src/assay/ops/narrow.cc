#include "assay/ops/narrow.h"

#include "assay/ops/narrow_kinds.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

MatrixView SplitOf(const OpInstance& op) { return SplitView(op.in[0], op.attrs.Int(0)); }

// An op over a matrix, as itself over one row or one column of it.
struct Line {
  const OpInstance& op;
  MatrixView view;
  std::int64_t row, column;
  Narrowed narrowed;

  // `element` is one of an output that is the matrix.
  static Line RowOf(const OpInstance& op, std::int64_t element) {
    const MatrixView view = LastAxisView(op.in[0]);
    return {op, view, element / view.cols, element % view.cols, {.op = Bare(op), .element = element % view.cols}};
  }
  static Line ColumnOf(const OpInstance& op, std::int64_t element) {
    const MatrixView view = LastAxisView(op.in[0]);
    return {op, view, element / view.cols, element % view.cols, {.op = Bare(op), .element = element / view.cols}};
  }
  static OpInstance Bare(const OpInstance& op) { return {.def = op.def, .attrs = op.attrs, .in = {}, .out = {}}; }

  // Input k: the row, the column, one element of it; what a statistic has for each row or column.
  void Row(int k, bool needed = true) {
    narrowed.op.in.push_back(F32({1, view.cols}));
    if (needed) AddPiece(narrowed, RunOf(k, row * view.cols, view.cols), k);
  }
  void Column(int k, bool needed = true) {
    narrowed.op.in.push_back(F32({view.rows, 1}));
    if (needed) AddPiece(narrowed, StridedOf(k, column, view.cols, view.rows), k);
  }
  void OfRow(int k) { One(k, row); }
  void OfColumn(int k, bool needed = true) { One(k, column, needed); }
  void OfEachRow(int k, bool needed = true) { Whole(k, view.rows, needed); }
  void OfEachColumn(int k) { Whole(k, view.cols, true); }
  // Of what each column has, that of the element's.
  void AmongColumns(int k, bool needed) {
    narrowed.op.in.push_back(F32({view.cols}));
    if (needed) AddPiece(narrowed, RunOf(k, column, 1), k, column);
  }
  Narrowed With(std::vector<TensorType> out) {
    narrowed.op.out = std::move(out);
    return std::move(narrowed);
  }

 private:
  void One(int k, std::int64_t at, bool needed = true) {
    narrowed.op.in.push_back(F32({1}));
    if (needed) AddPiece(narrowed, RunOf(k, at, 1), k);
  }
  void Whole(int k, std::int64_t count, bool needed) {
    narrowed.op.in.push_back(F32({count}));
    if (needed) AddPiece(narrowed, RunOf(k, 0, count), k);
  }
};

// The row of a statistic, whose output has one element for each.
Line StatisticOf(const OpInstance& op, std::int64_t row) {
  Line line = Line::RowOf(op, row * LastAxisView(op.in[0]).cols);
  line.narrowed.element = 0;
  return line;
}

// The same of a column.
Line ColumnStatisticOf(const OpInstance& op, std::int64_t column) {
  Line line = Line::ColumnOf(op, column);
  line.narrowed.element = 0;
  return line;
}

Narrowed NarrowRowReduction(const OpInstance& op, std::int64_t row) {
  const std::int64_t n = SplitOf(op).cols;
  Narrowed narrowed{.op = {.def = op.def, .attrs = {std::int64_t{1}}, .in = {F32({1, n})}, .out = {F32({1})}}};
  AddPiece(narrowed, RunOf(0, row * n, n), 0);
  return narrowed;
}

Narrowed NarrowColSum(const OpInstance& op, std::int64_t column) {
  const MatrixView view = SplitOf(op);
  Narrowed narrowed{.op = {.def = op.def, .attrs = {std::int64_t{1}}, .in = {F32({view.rows, 1})}, .out = {F32({1})}}};
  AddPiece(narrowed, StridedOf(0, column, view.cols, view.rows), 0);
  return narrowed;
}

// An element's fate is decided by those before it in its row.
Narrowed NarrowRowMaxGrad(const OpInstance& op, std::int64_t element) {
  const std::int64_t n = SplitOf(op).cols, row = element / n, i = element % n;
  Narrowed narrowed{
      .op = {.def = op.def, .attrs = {std::int64_t{1}}, .in = {F32({1, i + 1}), F32({1}), F32({1})}, .out = {F32({1, i + 1})}},
      .element = i};
  AddPiece(narrowed, RunOf(0, row * n, i + 1), 0);
  for (int k : {1, 2}) AddPiece(narrowed, RunOf(k, row, 1), k);
  return narrowed;
}

Narrowed NarrowSoftmax(const OpInstance& op, std::int64_t element) {
  Line line = Line::RowOf(op, element);
  for (int k = 0; k < static_cast<int>(op.in.size()); ++k) line.Row(k);
  return line.With({F32({1, line.view.cols})});
}

Narrowed NarrowCrossEntropy(const OpInstance& op, int output, std::int64_t row) {
  Line line = StatisticOf(op, row);
  line.Row(0);
  line.narrowed.op.in.push_back(I32({1}));
  if (output == 0) AddPiece(line.narrowed, RunOf(1, row, 1), 1);
  return line.With({F32({1}), F32({1})});
}

// layernorm and rmsnorm: scales and shifts for each column behind x, statistics behind y.
Narrowed NarrowRowNorm(const OpInstance& op, int output, std::int64_t element) {
  Line line = output == 0 ? Line::RowOf(op, element) : StatisticOf(op, element);
  line.Row(0);
  for (int k = 1; k < static_cast<int>(op.in.size()); ++k) line.AmongColumns(k, output == 0);
  std::vector<TensorType> out(op.out.size(), F32({1}));
  out[0] = F32({1, line.view.cols});
  return line.With(std::move(out));
}

// x, gamma, statistics of the row, dy.
Narrowed NarrowRowNormGradX(const OpInstance& op, std::int64_t element) {
  Line line = Line::RowOf(op, element);
  const int last = static_cast<int>(op.in.size()) - 1;
  line.Row(0);
  line.OfEachColumn(1);
  for (int k = 2; k < last; ++k) line.OfRow(k);
  line.Row(last);
  return line.With({F32({1, line.view.cols})});
}

// x, statistics of each row, dy; the gradient of the shift takes dy alone.
Narrowed NarrowRowNormGradParams(const OpInstance& op, int output, std::int64_t column) {
  Line line = ColumnStatisticOf(op, column);
  const int last = static_cast<int>(op.in.size()) - 1;
  line.Column(0, output == 0);
  for (int k = 1; k < last; ++k) line.OfEachRow(k, output == 0);
  line.Column(last);
  return line.With(std::vector<TensorType>(op.out.size(), F32({1})));
}

// y, mean, var, rstd from x, gamma, beta.
Narrowed NarrowBatchnormTrain(const OpInstance& op, int output, std::int64_t element) {
  Line line = output == 0 ? Line::ColumnOf(op, element) : ColumnStatisticOf(op, element);
  line.Column(0);
  for (int k : {1, 2}) line.OfColumn(k, output == 0);
  return line.With({F32({line.view.rows, 1}), F32({1}), F32({1}), F32({1})});
}

// dx, dgamma, dbeta from x, gamma, mean, rstd, dy.
Narrowed NarrowBatchnormGrad(const OpInstance& op, int output, std::int64_t element) {
  Line line = output == 0 ? Line::ColumnOf(op, element) : ColumnStatisticOf(op, element);
  line.Column(0, output != 2);
  line.OfColumn(1, output == 0);
  for (int k : {2, 3}) line.OfColumn(k, output != 2);
  line.Column(4);
  return line.With({F32({line.view.rows, 1}), F32({1}), F32({1})});
}

// Which row is looked up is said by the id, so that all are told.
Narrowed NarrowEmbedding(const OpInstance& op, std::int64_t element) {
  const MatrixView table = LastAxisView(op.in[0]);
  Narrowed narrowed{.op = {.def = op.def, .attrs = op.attrs, .in = {F32({table.rows, 1}), I32({1})}, .out = {F32({1, 1})}}};
  AddPiece(narrowed, StridedOf(0, element % table.cols, table.cols, table.rows), 0);
  AddPiece(narrowed, RunOf(1, element / table.cols, 1), 1);
  return narrowed;
}

Narrowed NarrowEmbeddingGrad(const OpInstance& op, std::int64_t element) {
  const MatrixView dy = LastAxisView(op.in[1]);
  Narrowed narrowed{.op = {.def = op.def,
                           .attrs = op.attrs,
                           .in = {I32({dy.rows}), F32({dy.rows, 1})},
                           .out = {F32({op.out[0].shape[0], 1})}},
                    .element = element / dy.cols};
  AddPiece(narrowed, RunOf(0, 0, dy.rows), 0);
  AddPiece(narrowed, StridedOf(1, element % dy.cols, dy.cols, dy.rows), 1);
  return narrowed;
}

// A pair of elements half a row apart, at its own time.
Narrowed NarrowRope(const OpInstance& op, std::int64_t element) {
  const Shape& x = op.in[0].shape;
  const std::int64_t width = x[3], row = element / width, i = element % width, pair = i % (width / 2);
  const std::int64_t time = row / x[2] % x[1];
  Narrowed narrowed{.op = {.def = op.def,
                           .attrs = {op.attrs.Float(0), op.attrs.Int(1) + time, op.attrs.Int(2)},
                           .in = {F32({1, 1, 1, width})},
                           .out = {F32({1, 1, 1, width})}},
                    .element = i};
  for (const std::int64_t at : {pair, pair + width / 2}) AddPiece(narrowed, RunOf(0, row * width + at, 1), 0, at);
  return narrowed;
}

Narrowed NarrowToItself(const OpInstance& op, std::int64_t element) {
  Narrowed narrowed{.op = op, .element = element};
  for (std::size_t k = 0; k < op.in.size(); ++k) {
    AddPiece(narrowed, RunOf(static_cast<int>(k), 0, op.in[k].elements()), static_cast<int>(k));
  }
  return narrowed;
}

std::int64_t ImageWords(const Shape& shape) { return shape[1] * shape[2]; }

std::int64_t MostWords(const OpInstance& op) {
  const auto rows = [&] { return LastAxisView(op.in[0]).rows; };
  const auto cols = [&] { return LastAxisView(op.in[0]).cols; };
  switch (op.def->index) {
    case op::matmul:
    case op::conv2d:
    case op::conv2d_grad_x:
    case op::conv2d_grad_w: return 2 * MaxProducts(op);
    case op::row_sum:
    case op::row_max: return SplitOf(op).cols;
    case op::row_max_grad: return SplitOf(op).cols + 2;
    case op::col_sum: return SplitOf(op).rows;
    case op::clip_scale: return static_cast<std::int64_t>(op.in.size());
    case op::softmax: return cols();
    case op::softmax_grad: return 2 * cols();
    case op::cross_entropy: return cols() + 1;
    case op::layernorm: return cols() + 2;
    case op::layernorm_grad_x: return 3 * cols() + 2;
    case op::layernorm_grad_params: return 4 * rows();
    case op::rmsnorm: return cols() + 1;
    case op::rmsnorm_grad_x: return 3 * cols() + 1;
    case op::rmsnorm_grad_gamma: return 3 * rows();
    case op::batchnorm_train: return rows() + 2;
    case op::batchnorm_grad: return 2 * rows() + 3;
    // As many as the small op holds, so that it is no larger.
    case op::max_pool2d:
    case op::avg_pool2d:
    case op::avg_pool2d_grad:
    case op::global_avg_pool: return ImageWords(op.in[0].shape);
    case op::max_pool2d_grad: return 2 * ImageWords(op.in[0].shape);
    case op::rope: return op.in[0].shape[3];
    case op::embedding: return rows() + 1;
    case op::embedding_grad: return 2 * LastAxisView(op.in[1]).rows;
    case op::attention:
    case op::attention_grad: return MaxAttentionWords(op);
    default: return 0;
  }
}

}  // namespace

void AddPiece(Narrowed& narrowed, const InputRange& from, int input, std::int64_t to) {
  if (from.length > 0 && from.repeat > 0) narrowed.pieces.push_back({from, input, to});
}

std::optional<Narrowed> Narrow(const OpInstance& op, int output, std::int64_t element) {
  switch (op.def->index) {
    case op::matmul: return NarrowMatmul(op, element);
    case op::conv2d: return NarrowConv2d(op, element);
    case op::conv2d_grad_x: return NarrowConv2dGradX(op, element);
    case op::conv2d_grad_w: return NarrowConv2dGradW(op, element);
    case op::row_sum:
    case op::row_max: return NarrowRowReduction(op, element);
    case op::row_max_grad: return NarrowRowMaxGrad(op, element);
    case op::col_sum: return NarrowColSum(op, element);
    case op::clip_scale: return NarrowToItself(op, element);
    case op::softmax:
    case op::softmax_grad: return NarrowSoftmax(op, element);
    case op::cross_entropy: return NarrowCrossEntropy(op, output, element);
    case op::layernorm:
    case op::rmsnorm: return NarrowRowNorm(op, output, element);
    case op::layernorm_grad_x:
    case op::rmsnorm_grad_x: return NarrowRowNormGradX(op, element);
    case op::layernorm_grad_params:
    case op::rmsnorm_grad_gamma: return NarrowRowNormGradParams(op, output, element);
    case op::batchnorm_train: return NarrowBatchnormTrain(op, output, element);
    case op::batchnorm_grad: return NarrowBatchnormGrad(op, output, element);
    case op::max_pool2d:
    case op::avg_pool2d: return NarrowPool(op, output, element);
    case op::max_pool2d_grad:
    case op::avg_pool2d_grad: return NarrowPoolGrad(op, element);
    case op::global_avg_pool: return NarrowGlobalPool(op, element);
    case op::rope: return NarrowRope(op, element);
    case op::embedding: return NarrowEmbedding(op, element);
    case op::embedding_grad: return NarrowEmbeddingGrad(op, element);
    case op::attention: return NarrowAttention(op, output, element);
    case op::attention_grad: return NarrowAttentionGrad(op, output, element);
    default: return std::nullopt;
  }
}

std::uint64_t MaxOperandWords(const OpInstance& op) { return static_cast<std::uint64_t>(MostWords(op)); }

}  // namespace assay::ops
