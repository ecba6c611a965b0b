// Shape rules of reductions, losses, norms, pooling and embedding against programs from outside, and the arithmetic of their dependencies.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "assay/ops/pool_geometry.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

std::string Reject(OpIndex op, Attrs attrs, std::vector<TensorType> in) {
  const auto out = Ops()[op].infer(attrs, in);
  return out ? "accepted as " + ToString(out->front()) : "rejected";
}

TEST(RowOps, RejectsWhatKernelsCannotHandle) {
  const TensorType x = F32({4, 8});
  const TensorType v = F32({8});
  const TensorType row = F32({4});
  const TensorType image = F32({1, 4, 4, 2});
  const struct {
    OpIndex op;
    Attrs attrs;
    std::vector<TensorType> in;
  } bad[] = {
      {op::row_sum, {std::int64_t{-1}}, {x}},
      {op::row_sum, {std::int64_t{3}}, {x}},
      {op::row_sum, {std::int64_t{1}}, {I32({4, 8})}},
      {op::row_sum, {std::int64_t{1}}, {}},
      {op::row_sum, {std::int64_t{1}}, {x, x}},
      {op::row_sum, {std::int64_t{1}}, {F32({0, kHuge, 4})}},
      {op::col_sum, {std::int64_t{2}}, {F32({kHuge, 4, 0})}},
      {op::row_max, {std::int64_t{1}}, {F32({4, 0})}},
      {op::row_max_grad, {std::int64_t{1}}, {x, row, v}},
      {op::clip_scale, {1.0f}, {}},
      {op::clip_scale, {1.0f}, {v}},
      {op::clip_scale, {std::nanf("")}, {F32({})}},
      {op::softmax, {}, {F32({})}},
      {op::softmax, {}, {F32({4, 0})}},
      {op::softmax_grad, {}, {x, v}},
      {op::cross_entropy, {}, {x, F32({4})}},
      {op::cross_entropy, {}, {x, I32({5})}},
      {op::cross_entropy, {}, {F32({2, 2, 8}), I32({4})}},
      {op::cross_entropy, {}, {F32({1, std::int64_t{1} << 32}), I32({1})}},
      {op::cross_entropy, {}, {F32({0, 8}), I32({0, kHuge, kHuge})}},
      {op::cross_entropy_grad, {}, {x, I32({4}), row, v}},
      {op::layernorm, {1e-5f}, {x, v, row}},
      {op::layernorm, {-1.0f}, {x, v, v}},
      {op::layernorm, {std::nanf("")}, {x, v, v}},
      {op::layernorm, {INFINITY}, {x, v, v}},
      {op::layernorm_grad_x, {}, {x, v, row, v, x}},
      {op::layernorm_grad_params, {}, {x, row, row, v}},
      {op::rmsnorm, {1e-5f}, {F32({4, 0}), F32({0})}},
      {op::rmsnorm_grad_gamma, {}, {x, v, x}},
      {op::batchnorm_train, {1e-5f}, {F32({0, 8}), v, v}},
      {op::batchnorm_grad, {}, {x, v, v, row, x}},
      {op::max_pool2d, {2l, 2l, 0l, 0l}, {image}},
      {op::max_pool2d, {0l, 2l, 1l, 0l}, {image}},
      {op::max_pool2d, {2l, 2l, 1l, 2l}, {image}},
      {op::max_pool2d, {2l, 2l, 1l, -1l}, {image}},
      {op::max_pool2d, {5l, 2l, 1l, 0l}, {image}},
      {op::max_pool2d, {kHuge, kHuge, 1l, kHuge - 1}, {image}},
      {op::max_pool2d, {2l, 2l, 1l, 0l}, {F32({1, 65536, 65536, 0})}},
      {op::avg_pool2d, {2l, 2l, 2l, 0l}, {F32({4, 4, 2})}},
      {op::avg_pool2d_grad, {2l, 2l, 2l, 0l, 5l, 7l}, {F32({1, 2, 2, 2})}},
      {op::max_pool2d_grad, {2l, 2l, 2l, 0l, 4l, 4l}, {F32({1, 2, 2, 2}), F32({1, 2, 2, 2})}},
      {op::global_avg_pool, {}, {F32({1, 0, 4, 2})}},
      {op::global_avg_pool_grad, {kHuge, kHuge}, {F32({1, 2})}},
      {op::global_avg_pool_grad, {30000l, 30000l}, {F32({1000, 1000})}},
      {op::embedding, {}, {x, F32({3})}},
      {op::embedding, {}, {F32({0, 8}), I32({3})}},
      {op::embedding, {}, {x, I32({1, 1, 1, 1, 1, 1, 1, 1})}},
      {op::embedding, {}, {F32({4, std::int64_t{1} << 20}), I32({std::int64_t{1} << 20})}},
      {op::embedding_grad, {0l}, {I32({3}), F32({3, 8})}},
      {op::embedding_grad, {10l}, {I32({3}), F32({4, 8})}},
      {op::embedding_grad, {std::int64_t{1} << 31}, {I32({3}), F32({3, 8})}},
  };
  for (std::size_t i = 0; i < std::size(bad); ++i) {
    EXPECT_EQ(Reject(bad[i].op, bad[i].attrs, bad[i].in), "rejected") << "entry " << i << ", " << Ops()[bad[i].op].name;
  }
}

TEST(Columns, OfARange) {
  EXPECT_EQ(ColumnsOf({3, 3}, 5), (std::vector<Range>{}));
  EXPECT_EQ(ColumnsOf({7, 9}, 5), (std::vector<Range>{{2, 4}}));
  EXPECT_EQ(ColumnsOf({8, 11}, 5), (std::vector<Range>{{0, 1}, {3, 5}}));
  EXPECT_EQ(ColumnsOf({3, 8}, 5), (std::vector<Range>{{0, 5}}));
  EXPECT_EQ(RowsOf({8, 11}, 5), (Range{1, 3}));
}

// Windows and pixels are two views of one relation.
TEST(PoolAxis, WindowsAndPixelsAgree) {
  for (std::int64_t kernel = 1; kernel <= 4; ++kernel) {
    for (std::int64_t stride = 1; stride <= 5; ++stride) {
      for (std::int64_t pad = 0; pad < kernel; ++pad) {
        for (std::int64_t in = std::max<std::int64_t>(1, kernel - 2 * pad); in <= 9; ++in) {
          const PoolAxis axis{in, (in + 2 * pad - kernel) / stride + 1, kernel, stride, pad};
          for (std::int64_t o = 0; o < axis.out; ++o) {
            const Range pixels = axis.Pixels({o, o + 1});
            EXPECT_GT(pixels.size(), 0);
            for (std::int64_t p = 0; p < in; ++p) {
              const Range windows = axis.Windows({p, p + 1});
              EXPECT_EQ(p >= pixels.begin && p < pixels.end, o >= windows.begin && o < windows.end)
                  << "kernel " << kernel << ", stride " << stride << ", pad " << pad << ", extent " << in << ", pixel " << p;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::ops
