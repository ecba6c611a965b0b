#include "conformance/derivation_cases.h"

#include <fmt/format.h>

#include "assay/ops/digits.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::testkit {
namespace {

using ops::F32;
using ops::I32;

constexpr auto kZero = std::int64_t{0};
constexpr auto kOne = std::int64_t{1};
const TensorType kRng{DType::kU32, {4}};

// Collects cases, numbered; the first `types` that is not f32 is an index below `limit` or a random state.
class Cases {
 public:
  explicit Cases(int digits = 0) : digits_(digits) {}  // of contractions
  void Add(OpIndex op, Attrs attrs, std::vector<TensorType> in, std::int64_t limit = 7) {
    if (TakesOptional(Ops()[op].attrs)) attrs = ops::WithDigits(std::move(attrs), digits_);
    OpCase c{.name = fmt::format("{}", cases_.size()), .attrs = std::move(attrs), .in = std::move(in), .index_limit = limit};
    for (const TensorType& type : c.in) {
      c.fill.push_back(type.dtype == DType::kF32 ? Fill::kNormal : type.dtype == DType::kI32 ? Fill::kTarget : Fill::kRng);
    }
    cases_.push_back({op, std::move(c)});
  }
  void AddAttention(Shape q, Shape k, bool causal, float dropout) {
    const Attrs attrs{std::int64_t{causal}, 0.25f, dropout, std::int64_t{5}};
    Add(op::attention, attrs, {F32(q), F32(k), F32(k), kRng});
    Add(op::attention_grad, attrs, {F32(q), F32(k), F32(k), F32(q), F32({q[0], q[2], q[1]}), F32(q), kRng});
  }
  // y = x w, or x wᵀ, and its gradients.
  void AddLinear(std::int64_t rows, std::int64_t in, std::int64_t out, bool transposed) {
    const Shape w = transposed ? Shape{out, in} : Shape{in, out};
    Add(op::matmul, {kZero, std::int64_t{transposed}}, {F32({rows, in}), F32(w)});
    Add(op::matmul, {kZero, std::int64_t{!transposed}}, {F32({rows, out}), F32(w)});
    const Shape x{rows, in}, dy{rows, out};
    Add(op::matmul, {kOne, kZero}, {F32(transposed ? dy : x), F32(transposed ? x : dy)});
    Add(op::col_sum, {kOne}, {F32({rows, out})});
    Add(op::sum_squares, {}, {F32(w)});
  }
  void AddNorms(std::int64_t rows, std::int64_t n) {
    const TensorType x = F32({rows, n}), column = F32({n}), row = F32({rows});
    Add(op::layernorm, {1e-5f}, {x, column, column});
    Add(op::layernorm_grad_x, {}, {x, column, row, row, x});
    Add(op::layernorm_grad_params, {}, {x, row, row, x});
    Add(op::rmsnorm, {1e-5f}, {x, column});
    Add(op::rmsnorm_grad_x, {}, {x, column, row, x});
    Add(op::rmsnorm_grad_gamma, {}, {x, row, x});
  }
  void AddBatchnorm(std::int64_t images, std::int64_t side, std::int64_t channels) {
    const TensorType x = F32({images, side, side, channels}), column = F32({channels});
    Add(op::batchnorm_train, {1e-5f}, {x, column, column});
    Add(op::batchnorm_infer, {1e-5f}, {x, column, column, column, column});
    Add(op::batchnorm_grad, {}, {x, column, column, column, x});
    Add(op::global_avg_pool, {}, {x});
    Add(op::global_avg_pool_grad, {side, side}, {F32({images, channels})});
  }
  void AddConv(std::int64_t images, std::int64_t side, std::int64_t c, std::int64_t o, std::int64_t kernel, std::int64_t stride,
               std::int64_t pad, std::int64_t groups = 1) {
    const std::int64_t out = (side + 2 * pad - kernel) / stride + 1;
    const TensorType x = F32({images, side, side, c}), w = F32({o, kernel, kernel, c / groups}), y = F32({images, out, out, o});
    Add(op::conv2d, {stride, pad, groups}, {x, w});
    Add(op::conv2d_grad_x, {stride, pad, groups, side, side}, {y, w});
    Add(op::conv2d_grad_w, {stride, pad, groups, kernel, kernel}, {x, y});
  }
  void AddPools(std::int64_t images, std::int64_t side, std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                std::int64_t pad) {
    const std::int64_t out = (side + 2 * pad - kernel) / stride + 1;
    const Attrs window{kernel, kernel, stride, pad}, whole{kernel, kernel, stride, pad, side, side};
    const Shape x{images, side, side, channels}, y{images, out, out, channels};
    Add(op::max_pool2d, window, {F32(x)});
    Add(op::avg_pool2d, window, {F32(x)});
    Add(op::max_pool2d_grad, whole, {F32(y), I32(y)}, side * side);
    Add(op::avg_pool2d_grad, whole, {F32(y)});
  }
  void AddLoss(std::int64_t rows, std::int64_t classes) {
    const TensorType x = F32({rows, classes}), row = F32({rows});
    Add(op::softmax, {}, {x});
    Add(op::softmax_grad, {}, {x, x});
    Add(op::cross_entropy, {}, {x, I32({rows})}, classes);
    Add(op::cross_entropy_grad, {}, {x, I32({rows}), row, row}, classes);
    Add(op::row_max, {kOne}, {x});
    Add(op::row_max_grad, {kOne}, {x, row, row});
    Add(op::row_sum, {kOne}, {x});
  }
  void AddEmbedding(std::int64_t rows, std::int64_t width, Shape ids) {
    Shape dy = ids;
    dy.Append(width);
    Add(op::embedding, {}, {F32({rows, width}), I32(ids)}, rows);
    Add(op::embedding_grad, {rows}, {I32(ids), F32(dy)}, rows);
    Add(op::sum_squares, {}, {F32({rows, width})});
  }
  void AddClip(std::size_t tensors) { Add(op::clip_scale, {1.0f}, std::vector(tensors, F32({}))); }
  void AddRope(Shape x) {
    Add(op::rope, {10000.0f, kZero, kZero}, {F32(x)});
    Add(op::transpose, {std::vector<std::int64_t>{0, 2, 1, 3}}, {F32(x)});
  }

  std::vector<DerivationCase> cases_;

 private:
  int digits_;
};

// A decoder of `layers` layers; key heads fewer than heads: grouped queries.
Cases Decoder(std::int64_t batch, std::int64_t time, std::int64_t width, std::int64_t inner, std::int64_t heads,
              std::int64_t key_heads, std::int64_t vocab, std::int64_t layers, float dropout, int digits = 0) {
  const std::int64_t rows = batch * time, d = width / heads;
  Cases m(digits);
  m.AddLinear(rows, width, width, false);
  m.AddLinear(rows, width, inner, false);
  m.AddLinear(rows, inner, width, false);
  m.AddLinear(rows, width, key_heads * d, true);
  m.AddLinear(rows, width, vocab, true);
  m.AddNorms(rows, width);
  m.AddLoss(rows, vocab);
  m.AddEmbedding(vocab, width, {batch, time});
  m.AddAttention({batch, time, heads, d}, {batch, time, key_heads, d}, true, dropout);
  m.AddRope({batch, time, heads, d});
  m.AddClip(static_cast<std::size_t>(layers) * 12 + 3);
  return m;
}

Cases Resnet(int digits = 0) {
  Cases m(digits);
  m.AddConv(64, 32, 3, 64, 3, 1, 1);
  m.AddConv(64, 32, 64, 256, 1, 1, 0);
  m.AddConv(64, 32, 256, 128, 1, 1, 0);
  m.AddConv(64, 32, 128, 128, 3, 2, 1);
  m.AddConv(64, 8, 512, 512, 3, 2, 1);
  m.AddConv(64, 4, 512, 2048, 1, 1, 0);
  m.AddConv(64, 4, 2048, 512, 1, 1, 0);
  m.AddBatchnorm(64, 32, 64);
  m.AddBatchnorm(64, 32, 256);
  m.AddBatchnorm(64, 4, 2048);
  m.AddPools(64, 32, 64, 3, 2, 1);
  m.AddLinear(64, 2048, 10, false);
  m.AddClip(161);
  return m;
}

}  // namespace

std::vector<DerivationCase> LargerCases() {
  Cases m;
  m.Add(op::matmul, {kOne, kZero}, {F32({140000, 2}), F32({140000, 3})});
  m.Add(op::matmul, {kZero, kZero}, {F32({2, 3, 600}), F32({600, 1500})});
  m.Add(op::matmul, {kOne, kOne}, {F32({700, 1100}), F32({3, 700})});
  m.AddConv(1, 40, 70, 2, 35, 1, 1);
  m.AddConv(2, 9, 40, 1200, 3, 2, 1);
  m.AddConv(8, 20, 300, 20, 3, 1, 1, 2);
  m.Add(op::row_sum, {kOne}, {F32({3, 300001})});
  m.Add(op::col_sum, {kOne}, {F32({270000, 2})});
  m.Add(op::col_sum, {kOne}, {F32({5000, 1100})});
  m.AddLoss(3, 300001);
  m.AddLoss(5, 50257);
  m.AddNorms(3, 40000);
  m.AddNorms(6000, 300);
  m.AddBatchnorm(6, 33, 300);
  m.AddPools(1, 70, 300, 65, 1, 3);
  m.AddPools(1, 40, 1100, 20, 1, 0);
  m.AddEmbedding(60, 700, {5000});
  m.AddClip(700);
  m.Add(op::rope, {10000.0f, kOne, kOne}, {F32({1, 3, 1, 200000})});
  m.AddAttention({1, 2, 2, 8}, {1, 4200, 1, 8}, true, 0.0f);
  m.AddAttention({1, 2, 4, 40}, {1, 4200, 2, 40}, true, 0.2f);
  m.AddAttention({1, 1300, 6, 24}, {1, 70, 2, 24}, false, 0.1f);
  m.AddAttention({1, 150, 8, 128}, {1, 150, 8, 128}, true, 0.0f);
  for (const int digits : {2, 3}) {
    Cases by_digits(digits);
    by_digits.Add(op::matmul, {kOne, kZero}, {F32({70000, 2}), F32({70000, 3})});
    by_digits.Add(op::matmul, {kOne, kOne}, {F32({700, 1100}), F32({3, 700})});
    by_digits.AddConv(2, 9, 40, 1200, 3, 2, 1);
    by_digits.AddConv(8, 20, 300, 20, 3, 1, 1, 2);
    by_digits.AddConv(1, 40, 70, 2, 35, 1, 1);
    by_digits.AddAttention({1, 2, 4, 40}, {1, 4200, 2, 40}, true, 0.2f);
    by_digits.AddAttention({1, 300, 6, 24}, {1, 70, 2, 24}, false, 0.1f);
    by_digits.AddAttention({1, 150, 8, 128}, {1, 150, 8, 128}, true, 0.0f);
    m.cases_.insert(m.cases_.end(), by_digits.cases_.begin(), by_digits.cases_.end());
  }
  return m.cases_;
}

std::vector<ModelShapes> AllModelShapes() {
  return {{"gpt2-124m b8 t64", 4, Decoder(8, 64, 768, 3072, 12, 12, 50257, 12, 0.1f).cases_},
          {"gpt2-124m b8 t1024", 4, Decoder(8, 1024, 768, 3072, 12, 12, 50257, 12, 0.1f).cases_},
          {"resnet50 b64", 4, Resnet().cases_},
          {"gpt2-124m b8 t1024 int8x3", 5, Decoder(8, 1024, 768, 3072, 12, 12, 50257, 12, 0.1f, 3).cases_},
          {"resnet50 b64 int8x3", 5, Resnet(3).cases_},
          {"llama-70b b2 t8192 int8x2", 6, Decoder(2, 8192, 8192, 28672, 64, 8, 128256, 80, 0.0f, 2).cases_},
          {"the largest int8x3", 8,
           [] {
             const std::int64_t n = std::int64_t{1} << 34;
             Cases m(3);
             m.Add(op::matmul, {kOne, kZero}, {F32({n / 2, 2}), F32({n / 2, 2})});
             m.Add(op::matmul, {kOne, kZero}, {F32({n / 4096, 4096}), F32({n / 4096, 4096})});
             m.AddConv(1, 65536, 2, 2, 20000, 1, 0);
             m.AddConv(65536, 128, 4, 4, 3, 2, 1);
             m.AddAttention({1, 1, 1, 256}, {1, 1 << 26, 1, 256}, true, 0.5f);
             m.AddAttention({1, 1 << 17, 1, 96}, {1, 1 << 17, 1, 96}, true, 0.5f);
             m.AddAttention({1, 1 << 17, 128, 100}, {1, 1 << 7, 1, 100}, false, 0.0f);
             return m.cases_;
           }()},
          {"llama-7b b8 t4096", 6, Decoder(8, 4096, 4096, 11008, 32, 32, 32000, 32, 0.0f).cases_},
          {"llama-70b b1 t4096", 6, Decoder(1, 4096, 8192, 28672, 64, 8, 128256, 80, 0.0f).cases_},
          {"llama-70b b2 t8192", 6, Decoder(2, 8192, 8192, 28672, 64, 8, 128256, 80, 0.0f).cases_},
          {"llama-70b weights b8 t8192", 6,
           [] {
             Cases m;
             m.AddLinear(65536, 8192, 28672, false);
             m.AddLinear(65536, 28672, 8192, true);
             m.AddNorms(65536, 8192);
             m.AddEmbedding(128256, 8192, {8, 8192});
             return m.cases_;
           }()},
          {"the largest", 8, [] {
             const std::int64_t n = std::int64_t{1} << 34;
             Cases m;
             m.Add(op::sum_squares, {}, {F32({n})});
             m.Add(op::row_sum, {kZero}, {F32({n})});
             m.Add(op::row_max, {kZero}, {F32({n})});
             m.Add(op::row_max_grad, {kZero}, {F32({n}), F32({}), F32({})});
             m.Add(op::col_sum, {kOne}, {F32({n / 8, 8})});
             m.Add(op::col_sum, {kOne}, {F32({n, 1})});
             m.Add(op::softmax, {}, {F32({n})});
             m.AddNorms(1, n);
             m.AddNorms(n, 1);
             m.AddNorms(n / 1024, 1024);
             m.Add(op::matmul, {kOne, kZero}, {F32({n / 2, 2}), F32({n / 2, 2})});
             m.Add(op::matmul, {kOne, kZero}, {F32({n / 4096, 4096}), F32({n / 4096, 4096})});
             m.AddConv(1, 65536, 2, 2, 20000, 1, 0);
             m.AddConv(65536, 128, 4, 4, 3, 2, 1);
             m.AddPools(1, 40000, 8, 20000, 1, 7);
             m.AddBatchnorm(1 << 20, 32, 8);
             m.AddBatchnorm(1, 32768, 16);
             m.AddEmbedding(1 << 20, 1024, {1 << 24});
             m.AddAttention({1, 1, 1, 256}, {1, 1 << 26, 1, 256}, true, 0.5f);
             m.AddAttention({1, 1 << 17, 1, 96}, {1, 1 << 17, 1, 96}, true, 0.5f);
             m.AddAttention({1, 1 << 17, 128, 100}, {1, 1 << 7, 1, 100}, false, 0.0f);
             m.AddClip(60000);
             return m.cases_;
           }()}};
}

}  // namespace assay::testkit
