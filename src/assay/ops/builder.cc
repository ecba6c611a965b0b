#include "assay/ops/builder.h"

#include "assay/ops/digits.h"

#include <algorithm>

#include "assay/base/check.h"

namespace assay {
namespace {

std::vector<std::int64_t> Dims(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

Shape BroadcastShape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int axis = 0; axis < rank; ++axis) {
    const int from_a = axis - (rank - a.rank());
    const int from_b = axis - (rank - b.rank());
    const std::int64_t da = from_a < 0 ? 1 : a[from_a];
    const std::int64_t db = from_b < 0 ? 1 : b[from_b];
    ASSAY_CHECK(da == db || da == 1 || db == 1);
    out.Append(da == 1 ? db : da);
  }
  return out;
}

}  // namespace

ValueId OpBuilder::Fill(Shape shape, float value) { return b_.Add(op::fill, {Dims(shape), value}, {}).front(); }
ValueId OpBuilder::Add(ValueId a, ValueId b) { return b_.Add(op::add, {}, {a, b}).front(); }
ValueId OpBuilder::Sub(ValueId a, ValueId b) { return b_.Add(op::sub, {}, {a, b}).front(); }
ValueId OpBuilder::Mul(ValueId a, ValueId b) { return b_.Add(op::mul, {}, {a, b}).front(); }
ValueId OpBuilder::Div(ValueId a, ValueId b) { return b_.Add(op::div, {}, {a, b}).front(); }
ValueId OpBuilder::Neg(ValueId x) { return b_.Add(op::neg, {}, {x}).front(); }
ValueId OpBuilder::Scale(ValueId x, float factor) { return b_.Add(op::scale, {factor}, {x}).front(); }
ValueId OpBuilder::AddScalar(ValueId x, float term) { return b_.Add(op::add_scalar, {term}, {x}).front(); }

ValueId OpBuilder::BroadcastTo(ValueId x, Shape shape) { return b_.Add(op::broadcast_to, {Dims(shape)}, {x}).front(); }

ValueId OpBuilder::Binary(OpIndex op, ValueId a, ValueId b) {
  const Shape shape = BroadcastShape(b_.shape(a), b_.shape(b));
  if (b_.shape(a) != shape) a = BroadcastTo(a, shape);
  if (b_.shape(b) != shape) b = BroadcastTo(b, shape);
  return b_.Add(op, {}, {a, b}).front();
}

ValueId OpBuilder::Unary(OpIndex op, ValueId x) { return b_.Add(op, {}, {x}).front(); }
ValueId OpBuilder::Pow(ValueId x, float exponent) { return b_.Add(op::pow, {exponent}, {x}).front(); }
ValueId OpBuilder::UnaryGrad(OpIndex op, ValueId x_or_y, ValueId dy) { return b_.Add(op, {}, {x_or_y, dy}).front(); }

ValueId OpBuilder::Dropout(ValueId x, ValueId rng, float p, std::int64_t stream) {
  return b_.Add(op::dropout, {p, stream}, {x, rng}).front();
}

ValueId OpBuilder::Reshape(ValueId x, Shape shape) { return b_.Add(op::reshape, {Dims(shape)}, {x}).front(); }

ValueId OpBuilder::Transpose(ValueId x, std::vector<std::int64_t> perm) {
  return b_.Add(op::transpose, {std::move(perm)}, {x}).front();
}

ValueId OpBuilder::Slice(ValueId x, int axis, std::int64_t begin, std::int64_t end) {
  return b_.Add(op::slice, {std::int64_t{axis}, begin, end}, {x}).front();
}

ValueId OpBuilder::Pad(ValueId x, int axis, std::int64_t before, std::int64_t after) {
  return b_.Add(op::pad, {std::int64_t{axis}, before, after}, {x}).front();
}

ValueId OpBuilder::RowSum(ValueId x, int split) { return b_.Add(op::row_sum, {std::int64_t{split}}, {x}).front(); }
ValueId OpBuilder::ColSum(ValueId x, int split) { return b_.Add(op::col_sum, {std::int64_t{split}}, {x}).front(); }
ValueId OpBuilder::RowMax(ValueId x, int split) { return b_.Add(op::row_max, {std::int64_t{split}}, {x}).front(); }

ValueId OpBuilder::Mean(ValueId x) {
  const std::int64_t n = b_.shape(x).elements();
  return Scale(RowSum(x, 0), 1.0f / static_cast<float>(n));
}

ValueId OpBuilder::SumSquares(ValueId x) { return b_.Add(op::sum_squares, {}, {x}).front(); }

std::vector<ValueId> OpBuilder::ClipScale(std::vector<ValueId> squares, float max_norm) {
  return b_.Add(op::clip_scale, {max_norm}, std::move(squares));
}

ValueId OpBuilder::Matmul(ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
  return b_.Add(op::matmul, ops::WithDigits({std::int64_t{transpose_a}, std::int64_t{transpose_b}}, digits_), {a, b}).front();
}

ValueId OpBuilder::Conv2d(ValueId x, ValueId w, std::int64_t stride, std::int64_t pad, std::int64_t groups) {
  return b_.Add(op::conv2d, ops::WithDigits({stride, pad, groups}, digits_), {x, w}).front();
}

ValueId OpBuilder::Softmax(ValueId x) { return b_.Add(op::softmax, {}, {x}).front(); }

std::vector<ValueId> OpBuilder::CrossEntropy(ValueId logits, ValueId targets) {
  return b_.Add(op::cross_entropy, {}, {logits, targets});
}

std::vector<ValueId> OpBuilder::LayerNorm(ValueId x, ValueId gamma, ValueId beta, float eps) {
  return b_.Add(op::layernorm, {eps}, {x, gamma, beta});
}

std::vector<ValueId> OpBuilder::RmsNorm(ValueId x, ValueId gamma, float eps) { return b_.Add(op::rmsnorm, {eps}, {x, gamma}); }

std::vector<ValueId> OpBuilder::BatchNormTrain(ValueId x, ValueId gamma, ValueId beta, float eps) {
  return b_.Add(op::batchnorm_train, {eps}, {x, gamma, beta});
}

ValueId OpBuilder::BatchNormInfer(ValueId x, ValueId gamma, ValueId beta, ValueId mean, ValueId var, float eps) {
  return b_.Add(op::batchnorm_infer, {eps}, {x, gamma, beta, mean, var}).front();
}

std::vector<ValueId> OpBuilder::MaxPool2d(ValueId x, Window2d w) {
  return b_.Add(op::max_pool2d, {w.kernel_h, w.kernel_w, w.stride, w.pad}, {x});
}

ValueId OpBuilder::GlobalAvgPool(ValueId x) { return b_.Add(op::global_avg_pool, {}, {x}).front(); }

ValueId OpBuilder::Embedding(ValueId table, ValueId ids) { return b_.Add(op::embedding, {}, {table, ids}).front(); }

ValueId OpBuilder::Rope(ValueId x, float base, std::int64_t offset, bool inverse) {
  return b_.Add(op::rope, {base, offset, std::int64_t{inverse}}, {x}).front();
}

std::vector<ValueId> OpBuilder::Attention(ValueId q, ValueId k, ValueId v, ValueId rng, bool causal, float scale, float dropout,
                                          std::int64_t stream) {
  return b_.Add(op::attention, ops::WithDigits({std::int64_t{causal}, scale, dropout, stream}, digits_), {q, k, v, rng});
}

std::vector<ValueId> OpBuilder::Sgd(ValueId p, ValueId g, ValueId m, ValueId lr, ValueId factor, float momentum,
                                    float dampening, float weight_decay, bool nesterov) {
  return b_.Add(op::sgd, {momentum, dampening, weight_decay, std::int64_t{nesterov}}, {p, g, m, lr, factor});
}

std::vector<ValueId> OpBuilder::Adam(ValueId p, ValueId g, ValueId m, ValueId v, ValueId lr, ValueId factor, ValueId step,
                                     float beta1, float beta2, float eps, float weight_decay, bool decoupled) {
  return b_.Add(decoupled ? op::adamw : op::adam, {beta1, beta2, eps, weight_decay}, {p, g, m, v, lr, factor, step});
}

}  // namespace assay
