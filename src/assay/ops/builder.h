// OpBuilder: one typed method per op, so that model code and gradient rules never spell out an attribute list. This header is the
// reference for each op's inputs, attributes (in their order on the wire) and outputs; docs/NUMERICS.md defines their bits.
//
// Layouts: matrices row-major; images NHWC; convolution weights OHWI; attention [batch, time, heads, width].
#pragma once

#include <cstdint>
#include <vector>

#include "assay/graph/graph.h"
#include "assay/ops/table.h"

namespace assay {

struct Window2d {  // convolution and pooling geometry
  std::int64_t kernel_h = 1, kernel_w = 1, stride = 1, pad = 0;
};

class OpBuilder {
 public:
  // `digits`: of every contraction (docs/NUMERICS.md, section 7); 0: none.
  explicit OpBuilder(GraphBuilder& builder, int digits = 0) : b_(builder), digits_(digits) {}
  GraphBuilder& graph() { return b_; }
  const Shape& shape(ValueId v) const { return b_.shape(v); }

  // --- constants and arithmetic; all f32; binary ops want equal shapes --------------------------------------------------------
  ValueId Fill(Shape shape, float value);       // fill        attrs: ints shape, float value; no inputs
  ValueId Add(ValueId a, ValueId b);            // add
  ValueId Sub(ValueId a, ValueId b);            // sub
  ValueId Mul(ValueId a, ValueId b);            // mul
  ValueId Div(ValueId a, ValueId b);            // div
  ValueId Neg(ValueId x);                       // neg
  ValueId Scale(ValueId x, float factor);       // scale       attrs: float factor
  ValueId AddScalar(ValueId x, float term);     // add_scalar  attrs: float term
  ValueId BroadcastTo(ValueId x, Shape shape);  // broadcast_to attrs: ints shape; numpy rules, aligned at the last axis
  // Inserts broadcast_to where the shapes differ (numpy rules), then the op.
  ValueId Binary(OpIndex op, ValueId a, ValueId b);

  // --- elementary functions, activations: one input, same shape out, no attributes ----------------------------------------------
  ValueId Unary(OpIndex op, ValueId x);    // exp log sqrt rsqrt tanh erf sin cos relu gelu_tanh gelu_erf sigmoid silu
  ValueId Pow(ValueId x, float exponent);  // pow         attrs: float exponent
  // relu_grad(y, dy): y is relu's output. gelu_tanh_grad, gelu_erf_grad, silu_grad (x, dy): x is the input.
  ValueId UnaryGrad(OpIndex op, ValueId x_or_y, ValueId dy);
  // dropout     inputs: x, rng u32[4] {seed low, seed high, step, microbatch}; attrs: float p, int stream. Its gradient is itself on dy.
  ValueId Dropout(ValueId x, ValueId rng, float p, std::int64_t stream);

  // --- layout -------------------------------------------------------------------------------------------------------------------
  ValueId Reshape(ValueId x, Shape shape);                       // reshape     attrs: ints shape
  ValueId Transpose(ValueId x, std::vector<std::int64_t> perm);  // transpose attrs: ints perm; out axis i is in axis perm[i]
  ValueId Slice(ValueId x, int axis, std::int64_t begin, std::int64_t end);  // slice attrs: int axis, int begin, int end
  ValueId Pad(ValueId x, int axis, std::int64_t before,
              std::int64_t after);  // pad (zeros) attrs: int axis, int before, int after

  // --- reductions: x is viewed as [product of axes < split, product of axes >= split] --------------------------------------------
  ValueId RowSum(ValueId x, int split);  // row_sum     attrs: int split; out shape = axes < split
  ValueId ColSum(ValueId x, int split);  // col_sum     attrs: int split; out shape = axes >= split
  ValueId RowMax(ValueId x, int split);  // row_max     attrs: int split
  ValueId Mean(ValueId x);               // scalar: row_sum over everything, then scale by 1/n
  ValueId SumSquares(ValueId x);         // sum_squares out: scalar
  // clip_scale  inputs: >= 1 scalars (sums of squares); attrs: float max_norm (<= 0: never clip). outputs: norm, factor
  std::vector<ValueId> ClipScale(std::vector<ValueId> squares, float max_norm);

  // --- contractions; their last attribute, int digits, is there if the builder has any ---------------------------------------------------------------------------------------------------------------
  // matmul      attrs: int transpose_a, int transpose_b. a [..., M, K] (or [..., K, M]), b [..., K, N] (or [..., N, K]); the leading
  //             axes are equal, or b (or a) has rank 2 and is shared by all. out [..., M, N]
  ValueId Matmul(ValueId a, ValueId b, bool transpose_a = false, bool transpose_b = false);
  // conv2d      inputs x [N,H,W,C], w [O,KH,KW,C/groups]; attrs: int stride, int pad, int groups. out [N,OH,OW,O]
  ValueId Conv2d(ValueId x, ValueId w, std::int64_t stride, std::int64_t pad, std::int64_t groups = 1);
  // conv2d_grad_x  inputs dy, w; attrs: stride, pad, groups, int height, int width (of x)
  // conv2d_grad_w  inputs x, dy; attrs: stride, pad, groups, int kernel_h, int kernel_w

  // --- softmax and losses -----------------------------------------------------------------------------------------------------------
  ValueId Softmax(ValueId x);  // softmax, over the last axis. softmax_grad(y, dy)
  // cross_entropy  inputs logits [N,V], targets i32, N of them in any shape (-1: ignored, loss 0, gradient 0). outputs: losses [N], lse [N].
  // cross_entropy_grad(logits, targets, lse, dlosses) -> dlogits. Only `losses` is differentiable.
  std::vector<ValueId> CrossEntropy(ValueId logits, ValueId targets);

  // --- normalisation ------------------------------------------------------------------------------------------------------------------
  // layernorm   inputs x [..., C], gamma [C], beta [C]; attrs: float eps. outputs y, mean [...], rstd [...]
  // layernorm_grad_x(x, gamma, mean, rstd, dy) -> dx; layernorm_grad_params(x, mean, rstd, dy) -> dgamma, dbeta
  std::vector<ValueId> LayerNorm(ValueId x, ValueId gamma, ValueId beta, float eps);
  // rmsnorm     inputs x [..., C], gamma [C]; attrs: float eps. outputs y, rstd [...]
  // rmsnorm_grad_x(x, gamma, rstd, dy) -> dx; rmsnorm_grad_gamma(x, rstd, dy) -> dgamma
  std::vector<ValueId> RmsNorm(ValueId x, ValueId gamma, float eps);
  // batchnorm_train  inputs x [..., C], gamma, beta [C]; attrs: float eps. outputs y, mean [C], var [C] (biased), rstd [C]
  // batchnorm_grad(x, gamma, mean, rstd, dy) -> dx, dgamma, dbeta. mean, var and rstd are not differentiable outputs.
  std::vector<ValueId> BatchNormTrain(ValueId x, ValueId gamma, ValueId beta, float eps);
  ValueId BatchNormInfer(ValueId x, ValueId gamma, ValueId beta, ValueId mean, ValueId var,
                         float eps);  // batchnorm_infer attrs: eps

  // --- pooling, NHWC; pad < kernel ------------------------------------------------------------------------------------------------------
  // max_pool2d  attrs: int kernel_h, int kernel_w, int stride, int pad. outputs y, argmax i32 (h * W + w inside the image)
  // max_pool2d_grad(dy, argmax) attrs: kernel_h, kernel_w, stride, pad, int height, int width
  std::vector<ValueId> MaxPool2d(ValueId x, Window2d window);
  ValueId GlobalAvgPool(ValueId x);  // [N,H,W,C] -> [N,C]. global_avg_pool_grad(dy) attrs: int height, int width

  // --- sequence models --------------------------------------------------------------------------------------------------------------------
  // embedding   inputs table [V,C], ids i32[...]; out [..., C]; an id outside [0, V) yields NaN and no gradient
  // embedding_grad(ids, dy) attrs: int rows
  ValueId Embedding(ValueId table, ValueId ids);
  // rope        x [B,T,H,D], D even; attrs: float base, int offset (position of the first row), int inverse (1: rotate back)
  ValueId Rope(ValueId x, float base, std::int64_t offset = 0, bool inverse = false);
  // attention   inputs q [B,Tq,Hq,D], k, v [B,Tk,Hkv,D], rng; Hq a multiple of Hkv; D <= 256. attrs: int causal, float scale,
  //             float dropout, int stream. Causal wants Tq <= Tk: query i sees keys 0 .. i + Tk - Tq. outputs o (as q), lse [B,Hq,Tq]
  // attention_grad(q, k, v, o, lse, do, rng) same attrs -> dq, dk, dv
  std::vector<ValueId> Attention(ValueId q, ValueId k, ValueId v, ValueId rng, bool causal, float scale, float dropout,
                                 std::int64_t stream);

  // --- optimizers: elementwise over the parameter; lr, factor f32 scalars; step i64 scalar, from 1 -----------------------------------------
  // sgd         inputs p, g, m, lr, factor; attrs: float momentum, float dampening, float weight_decay, int nesterov. outputs p, m
  std::vector<ValueId> Sgd(ValueId p, ValueId g, ValueId m, ValueId lr, ValueId factor, float momentum, float dampening,
                           float weight_decay, bool nesterov);
  // adam, adamw inputs p, g, m, v, lr, factor, step; attrs: float beta1, float beta2, float eps, float weight_decay. outputs p, m, v
  std::vector<ValueId> Adam(ValueId p, ValueId g, ValueId m, ValueId v, ValueId lr, ValueId factor, ValueId step, float beta1,
                            float beta2, float eps, float weight_decay, bool decoupled);

 private:
  GraphBuilder& b_;
  int digits_;
};

}  // namespace assay
