// matmul, conv2d and its gradients on every instruction set of this machine against the contract, written out as plain loops.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "assay/backend/cpu/cpu.h"
#include "assay/base/philox.h"
#include "assay/base/thread_pool.h"
#include "assay/numerics/scalar.h"
#include "assay/ops/table.h"

namespace assay::cpu {
namespace {

enum class Values { kNormal, kSpecial };

std::vector<float> RandomValues(std::int64_t n, std::uint32_t seed, Values values) {
  static constexpr float kSpecials[] = {0.0f, -0.0f, 1e-42f, -1e-42f,  INFINITY, -INFINITY,
                                        NAN,  3e38f, -3e38f, 1.2e-38f, -1e-30f,  1e-30f};
  std::vector<float> out(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const PhiloxBlock draw = Philox({seed, 7}, {static_cast<std::uint32_t>(i), 0, 0, 0});
    out[i] = static_cast<float>(static_cast<std::int32_t>(draw[0])) * 0x1p-31f;
    // Rare enough for most sums to stay finite.
    if (values == Values::kSpecial && draw[1] % 67 == 0) out[i] = kSpecials[draw[2] % std::size(kSpecials)];
    if (values == Values::kSpecial && draw[1] % 67 > 40) out[i] = draw[3] % 2 == 0 ? std::ldexp(out[i], -70) : -0.0f;
  }
  return out;
}

// contract(K) of docs/NUMERICS.md.
class Sum {
 public:
  void Add(float a, float b) {
    chain_ = std::fma(a, b, chain_);
    if (++k_ % 256 == 0) Close();
  }
  float Total() {
    if (k_ % 256 != 0) Close();
    return numerics::CanonicalNan(total_);
  }

 private:
  void Close() {
    total_ = blocks_++ == 0 ? chain_ : total_ + chain_;
    chain_ = 0.0f;
  }
  float chain_ = 0.0f, total_ = 0.0f;
  int k_ = 0, blocks_ = 0;
};

// Runs the op on every instruction set with 1, 2 and 7 threads; expects the given bytes and untouched memory around them.
void ExpectOutput(OpIndex op, const Attrs& attrs, const std::vector<Shape>& shapes, const std::vector<std::vector<float>>& in,
                  const Shape& out_shape, const std::vector<float>& expected, const std::string& what) {
  constexpr std::size_t kGuard = 64;
  constexpr std::uint32_t kMark = 0xa55aa55au;
  OpDef def;
  def.index = op;
  OpInstance instance{.def = &def, .attrs = attrs, .in = {}, .out = {{DType::kF32, out_shape}}};
  std::vector<const void*> in_data;
  for (std::size_t i = 0; i < in.size(); ++i) {
    instance.in.push_back({DType::kF32, shapes[i]});
    in_data.push_back(in[i].data());
  }
  for (Simd simd : SupportedSimd()) {
    for (int threads : {1, 2, 7}) {
      ThreadPool pool(threads);
      const std::unique_ptr<Backend> backend = MakeCpuBackend(simd, pool);
      std::vector<std::uint32_t> buffer(expected.size() + 2 * kGuard, kMark);
      void* const out[] = {buffer.data() + kGuard};
      for (int repeat = 0; repeat < 2; ++repeat) {  // the second run meets used scratch memory
        backend->Run({&instance, in_data, out});
        std::size_t wrong = 0;
        while (wrong < expected.size() && buffer[kGuard + wrong] == std::bit_cast<std::uint32_t>(expected[wrong])) ++wrong;
        ASSERT_EQ(wrong, expected.size()) << what << " on " << Name(simd) << " with " << threads << " threads: got "
                                          << std::bit_cast<float>(buffer[kGuard + wrong]) << ", expected " << expected[wrong];
        for (std::size_t i = 0; i < kGuard; ++i) {
          ASSERT_EQ(buffer[i], kMark) << what;
          ASSERT_EQ(buffer[kGuard + expected.size() + i], kMark) << what;
        }
      }
    }
  }
}

struct MatmulCase {
  std::int64_t batch, m, n, k;
  bool transpose_a = false, transpose_b = false;
  bool shared_a = false, shared_b = false;
  Values values = Values::kNormal;
};

void CheckMatmul(const MatmulCase& c) {
  const auto shape = [&](bool shared, bool transposed, std::int64_t rows, std::int64_t columns) {
    Shape s;
    if (!shared && c.batch > 1) s.Append(c.batch);
    s.Append(transposed ? columns : rows);
    s.Append(transposed ? rows : columns);
    return s;
  };
  const Shape a_shape = shape(c.shared_a, c.transpose_a, c.m, c.k), b_shape = shape(c.shared_b, c.transpose_b, c.k, c.n);
  const std::vector<float> a = RandomValues(a_shape.elements(), 1, c.values), b = RandomValues(b_shape.elements(), 2, c.values);
  std::vector<float> expected;
  for (std::int64_t p = 0; p < c.batch; ++p) {
    const float* pa = a.data() + (c.shared_a ? 0 : p * c.m * c.k);
    const float* pb = b.data() + (c.shared_b ? 0 : p * c.k * c.n);
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        Sum sum;
        for (std::int64_t k = 0; k < c.k; ++k) {
          sum.Add(pa[c.transpose_a ? k * c.m + i : i * c.k + k], pb[c.transpose_b ? j * c.k + k : k * c.n + j]);
        }
        expected.push_back(sum.Total());
      }
    }
  }
  const std::string what = "matmul " + std::to_string(c.batch) + " x " + std::to_string(c.m) + "x" + std::to_string(c.n) + "x" +
                           std::to_string(c.k) + (c.transpose_a ? " t" : " n") + (c.transpose_b ? "t" : "n");
  ExpectOutput(op::matmul, {std::int64_t{c.transpose_a}, std::int64_t{c.transpose_b}}, {a_shape, b_shape}, {a, b},
               shape(false, false, c.m, c.n), expected, what);
}

void CheckMatmulTransposes(MatmulCase c) {
  for (int transposes = 0; transposes < 4; ++transposes) {
    c.transpose_a = (transposes & 1) != 0;
    c.transpose_b = (transposes & 2) != 0;
    CheckMatmul(c);
  }
}

TEST(MatmulTest, TailsInRowsAndColumns) {
  for (std::int64_t m : {1, 2, 5, 6, 7, 11, 12, 13, 14, 25}) {
    for (std::int64_t n : {1, 3, 8, 15, 16, 17, 31, 32, 33, 47, 65})
      CheckMatmulTransposes({.batch = 1, .m = m, .n = n, .k = 19});
  }
}

TEST(MatmulTest, BlocksOfK) {
  for (std::int64_t k : {0, 1, 2, 15, 16, 17, 255, 256, 257, 511, 512, 513, 1030}) {
    CheckMatmulTransposes({.batch = 1, .m = 13, .n = 35, .k = k});
    CheckMatmulTransposes({.batch = 1, .m = 50, .n = 18, .k = k});
  }
}

TEST(MatmulTest, EmptyExtents) {
  CheckMatmulTransposes({.batch = 1, .m = 0, .n = 5, .k = 3});
  CheckMatmulTransposes({.batch = 1, .m = 5, .n = 0, .k = 3});
  CheckMatmulTransposes({.batch = 2, .m = 3, .n = 4, .k = 0});
}

TEST(MatmulTest, SeveralStripsAndChunks) {
  CheckMatmulTransposes({.batch = 1, .m = 301, .n = 67, .k = 300});
  CheckMatmulTransposes({.batch = 1, .m = 67, .n = 301, .k = 300});
  CheckMatmulTransposes({.batch = 1, .m = 75, .n = 96, .k = 1030});  // operands read in place, later blocks fetched ahead
  CheckMatmulTransposes({.batch = 1, .m = 96, .n = 75, .k = 1030});
  CheckMatmul({.batch = 1, .m = 40, .n = 33, .k = 9000});  // more K than one packed chunk
  CheckMatmul({.batch = 1, .m = 1500, .n = 1300, .k = 3, .transpose_a = true});
  CheckMatmul({.batch = 1, .m = 1100, .n = 1130, .k = 600, .transpose_b = true});  // more lines than one packed chunk
}

TEST(MatmulTest, BatchesAndSharedOperands) {
  for (std::int64_t batch : {2, 3, 5, 17}) {
    CheckMatmulTransposes({.batch = batch, .m = 14, .n = 33, .k = 70});
    CheckMatmulTransposes({.batch = batch, .m = 9, .n = 20, .k = 260, .shared_a = true});
    CheckMatmulTransposes({.batch = batch, .m = 9, .n = 20, .k = 260, .shared_b = true});
  }
}

TEST(MatmulTest, SpecialValues) {
  for (std::int64_t k : {1, 5, 255, 256, 257, 513}) {
    CheckMatmulTransposes({.batch = 1, .m = 37, .n = 75, .k = k, .values = Values::kSpecial});
    CheckMatmulTransposes({.batch = 1, .m = 61, .n = 29, .k = k, .values = Values::kSpecial});
  }
}

struct ConvCase {
  std::int64_t n, h, w, c, o, kh, kw, stride, pad, groups = 1;
  Values values = Values::kNormal;
};

class ConvCheck {
 public:
  explicit ConvCheck(const ConvCase& c)
      : c_(c),
        oh_((c.h + 2 * c.pad - c.kh) / c.stride + 1),
        ow_((c.w + 2 * c.pad - c.kw) / c.stride + 1),
        gc_(c.c / c.groups),
        go_(c.o / c.groups),
        x_shape_{c.n, c.h, c.w, c.c},
        w_shape_{c.o, c.kh, c.kw, gc_},
        y_shape_{c.n, oh_, ow_, c.o},
        x_(RandomValues(x_shape_.elements(), 3, c.values)),
        w_(RandomValues(w_shape_.elements(), 4, c.values)),
        dy_(RandomValues(y_shape_.elements(), 5, c.values)) {
    what_ = "x " + ToString(x_shape_) + " w " + ToString(w_shape_) + " stride " + std::to_string(c.stride) + " pad " +
            std::to_string(c.pad);
  }

  void Forward() const {
    std::vector<float> expected;
    for (std::int64_t i = 0; i < y_shape_.elements(); ++i) {
      const std::int64_t o = i % c_.o, ow = i / c_.o % ow_, oh = i / (c_.o * ow_) % oh_, n = i / (c_.o * ow_ * oh_);
      Sum sum;
      for (std::int64_t k = 0; k < c_.kh * c_.kw * gc_; ++k) {
        const std::int64_t c = k % gc_, kw = k / gc_ % c_.kw, kh = k / (gc_ * c_.kw);
        sum.Add(At(x_, x_shape_, n, oh * c_.stride + kh - c_.pad, ow * c_.stride + kw - c_.pad, o / go_ * gc_ + c),
                At(w_, w_shape_, o, kh, kw, c));
      }
      expected.push_back(sum.Total());
    }
    ExpectOutput(op::conv2d, {c_.stride, c_.pad, c_.groups}, {x_shape_, w_shape_}, {x_, w_}, y_shape_, expected,
                 "conv2d " + what_);
  }

  void GradX() const {
    std::vector<float> expected;
    for (std::int64_t i = 0; i < x_shape_.elements(); ++i) {
      const std::int64_t c = i % c_.c, w = i / c_.c % c_.w, h = i / (c_.c * c_.w) % c_.h, n = i / (c_.c * c_.w * c_.h);
      Sum sum;
      for (std::int64_t k = 0; k < c_.kh * c_.kw * go_; ++k) {
        const std::int64_t o = c / gc_ * go_ + k % go_, kw = k / go_ % c_.kw, kh = k / (go_ * c_.kw);
        const std::int64_t top = h + c_.pad - kh, left = w + c_.pad - kw;
        if (top % c_.stride != 0 || left % c_.stride != 0) continue;
        sum.Add(At(dy_, y_shape_, n, top / c_.stride, left / c_.stride, o), At(w_, w_shape_, o, kh, kw, c % gc_));
      }
      expected.push_back(sum.Total());
    }
    ExpectOutput(op::conv2d_grad_x, {c_.stride, c_.pad, c_.groups, c_.h, c_.w}, {y_shape_, w_shape_}, {dy_, w_}, x_shape_,
                 expected, "conv2d_grad_x " + what_);
  }

  void GradW() const {
    std::vector<float> expected;
    for (std::int64_t i = 0; i < w_shape_.elements(); ++i) {
      const std::int64_t c = i % gc_, kw = i / gc_ % c_.kw, kh = i / (gc_ * c_.kw) % c_.kh, o = i / (gc_ * c_.kw * c_.kh);
      Sum sum;
      for (std::int64_t k = 0; k < c_.n * oh_ * ow_; ++k) {
        const std::int64_t ow = k % ow_, oh = k / ow_ % oh_, n = k / (ow_ * oh_);
        sum.Add(At(dy_, y_shape_, n, oh, ow, o),
                At(x_, x_shape_, n, oh * c_.stride + kh - c_.pad, ow * c_.stride + kw - c_.pad, o / go_ * gc_ + c));
      }
      expected.push_back(sum.Total());
    }
    ExpectOutput(op::conv2d_grad_w, {c_.stride, c_.pad, c_.groups, c_.kh, c_.kw}, {x_shape_, y_shape_}, {x_, dy_}, w_shape_,
                 expected, "conv2d_grad_w " + what_);
  }

 private:
  // Element of a 4-dimensional tensor, +0 outside axes 1 and 2.
  static float At(const std::vector<float>& v, const Shape& s, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    if (b < 0 || b >= s[1] || c < 0 || c >= s[2]) return 0.0f;
    return v[static_cast<std::size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d)];
  }

  ConvCase c_;
  std::int64_t oh_, ow_, gc_, go_;
  Shape x_shape_, w_shape_, y_shape_;
  std::vector<float> x_, w_, dy_;
  std::string what_;
};

void CheckConv(const ConvCase& c) {
  const ConvCheck check(c);
  check.Forward();
  check.GradX();
  check.GradW();
}

TEST(Conv2dTest, KernelsStridesAndPads) {
  for (std::int64_t kernel : {1, 2, 3, 5}) {
    for (std::int64_t stride : {1, 2, 3}) {
      for (std::int64_t pad : {0, 1, 2}) {
        CheckConv({.n = 2, .h = 6, .w = 7, .c = 5, .o = 9, .kh = kernel, .kw = kernel, .stride = stride, .pad = pad});
      }
    }
  }
  CheckConv({.n = 1, .h = 9, .w = 5, .c = 3, .o = 4, .kh = 3, .kw = 2, .stride = 2, .pad = 1});
  CheckConv({.n = 3, .h = 1, .w = 1, .c = 1, .o = 1, .kh = 3, .kw = 3, .stride = 1, .pad = 1});
  CheckConv({.n = 0, .h = 4, .w = 4, .c = 2, .o = 3, .kh = 3, .kw = 3, .stride = 1, .pad = 1});
}

TEST(Conv2dTest, WideChannels) {
  for (std::int64_t stride : {1, 2}) {
    CheckConv({.n = 2, .h = 7, .w = 6, .c = 64, .o = 33, .kh = 3, .kw = 3, .stride = stride, .pad = 1});
    CheckConv({.n = 3, .h = 5, .w = 8, .c = 35, .o = 64, .kh = 3, .kw = 3, .stride = stride, .pad = 1});
    CheckConv({.n = 4, .h = 11, .w = 10, .c = 48, .o = 96, .kh = 1, .kw = 1, .stride = stride, .pad = 0});
  }
  CheckConv({.n = 1, .h = 23, .w = 19, .c = 3, .o = 20, .kh = 7, .kw = 7, .stride = 2, .pad = 3});
  CheckConv({.n = 1, .h = 3, .w = 3, .c = 300, .o = 270, .kh = 3, .kw = 3, .stride = 1, .pad = 1});
}

TEST(Conv2dTest, Groups) {
  CheckConv({.n = 2, .h = 5, .w = 6, .c = 12, .o = 8, .kh = 3, .kw = 3, .stride = 1, .pad = 1, .groups = 4});
  CheckConv({.n = 2, .h = 5, .w = 6, .c = 6, .o = 6, .kh = 3, .kw = 3, .stride = 2, .pad = 1, .groups = 6});
  CheckConv({.n = 2, .h = 5, .w = 6, .c = 68, .o = 34, .kh = 1, .kw = 1, .stride = 1, .pad = 0, .groups = 2});
}

TEST(Conv2dTest, SpecialValues) {
  for (std::int64_t stride : {1, 2}) {
    CheckConv(
        {.n = 2, .h = 8, .w = 7, .c = 34, .o = 40, .kh = 3, .kw = 3, .stride = stride, .pad = 1, .values = Values::kSpecial});
    CheckConv(
        {.n = 3, .h = 10, .w = 10, .c = 18, .o = 24, .kh = 1, .kw = 1, .stride = stride, .pad = 0, .values = Values::kSpecial});
  }
}

}  // namespace
}  // namespace assay::cpu
