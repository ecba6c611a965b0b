// Reductions at sizes where kernels choose other paths than for the small cases of the conformance suite: matrices that are streamed past the
// cache, and rows whose pieces need two levels of sums. Expected values come from the scalar orders of numerics/reduce.h.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "assay/backend/cpu/cpu.h"
#include "assay/base/philox.h"
#include "assay/base/thread_pool.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/reduce.h"
#include "assay/ops/table.h"

namespace assay::cpu {
namespace {

Tensor Random(Shape shape, std::uint32_t seed) {
  Tensor t(DType::kF32, shape);
  std::uint32_t i = 0;
  for (float& v : t.Span<float>()) {
    v = static_cast<float>(static_cast<std::int32_t>(Philox({seed, 1}, {i++, 0, 0, 0})[0])) * 0x1p-30f;
  }
  return t;
}

std::vector<Tensor> RunOp(Backend& backend, OpIndex op, Attrs attrs, std::vector<const Tensor*> in) {
  OpInstance instance{.def = &Ops()[op], .attrs = std::move(attrs), .in = {}, .out = {}};
  std::vector<const void*> in_data;
  for (const Tensor* t : in) {
    instance.in.push_back(t->type());
    in_data.push_back(t->data());
  }
  instance.out = instance.def->infer(instance.attrs, instance.in).value();
  std::vector<Tensor> out;
  std::vector<void*> out_data;
  for (const TensorType& type : instance.out) out.emplace_back(type);
  for (Tensor& t : out) out_data.push_back(t.data());
  backend.Run({&instance, in_data, out_data});
  return out;
}

void ExpectSame(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.type().bytes()), 0) << what;
}

template <class Check>
void OnEveryBackend(const Check& check) {
  for (Simd simd : SupportedSimd()) {
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      check(*MakeCpuBackend(simd, pool), std::string(Name(simd)) + ", threads " + std::to_string(threads));
    }
  }
}

// y, mean, var, rstd as the contract writes them.
std::vector<Tensor> BatchNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps) {
  const std::int64_t rows = x.shape()[0];
  const std::int64_t cols = x.shape()[1];
  const auto count = static_cast<float>(rows);
  std::vector<Tensor> out;
  out.emplace_back(x.type());
  for (int k = 0; k < 3; ++k) out.emplace_back(gamma.type());
  for (std::int64_t c = 0; c < cols; ++c) {
    const float* column = x.Span<float>().data() + c;
    const auto col = static_cast<std::size_t>(c);
    const float mean = numerics::ColSum(rows, [&](std::int64_t r) { return column[r * cols]; }) / count;
    const auto d = [&](std::int64_t r) { return column[r * cols] - mean; };
    const float var = numerics::ColDot(rows, d, d) / count;
    const float rstd = numerics::Rsqrt<numerics::Scalar>(var + eps);
    const float a = gamma.Span<float>()[col] * rstd;
    float* y = out[0].Span<float>().data() + c;
    for (std::int64_t r = 0; r < rows; ++r) y[r * cols] = std::fma(d(r), a, beta.Span<float>()[col]);
    out[1].Span<float>()[col] = mean;
    out[2].Span<float>()[col] = var;
    out[3].Span<float>()[col] = rstd;
  }
  return out;
}

// dx, dgamma, dbeta.
std::vector<Tensor> BatchNormGrad(const Tensor& x, const Tensor& gamma, const Tensor& mean, const Tensor& rstd,
                                  const Tensor& dy) {
  const std::int64_t rows = x.shape()[0];
  const std::int64_t cols = x.shape()[1];
  const auto count = static_cast<float>(rows);
  std::vector<Tensor> out;
  out.emplace_back(x.type());
  for (int k = 0; k < 2; ++k) out.emplace_back(gamma.type());
  for (std::int64_t c = 0; c < cols; ++c) {
    const auto col = static_cast<std::size_t>(c);
    const float m = mean.Span<float>()[col];
    const float s = rstd.Span<float>()[col];
    const auto h = [&](std::int64_t r) { return (x.Span<float>()[static_cast<std::size_t>(r * cols + c)] - m) * s; };
    const auto g = [&](std::int64_t r) { return dy.Span<float>()[static_cast<std::size_t>(r * cols + c)]; };
    const float dgamma = numerics::ColDot(rows, g, h);
    const float dbeta = numerics::ColSum(rows, g);
    float* dx = out[0].Span<float>().data() + c;
    for (std::int64_t r = 0; r < rows; ++r) {
      dx[r * cols] = (gamma.Span<float>()[col] * s) * (std::fma(-h(r), dgamma / count, g(r)) - dbeta / count);
    }
    out[1].Span<float>()[col] = dgamma;
    out[2].Span<float>()[col] = dbeta;
  }
  return out;
}

// 64 columns are whole vectors and are written past the cache; 50 are not.
class LargeBatchNorm : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Widths, LargeBatchNorm, ::testing::Values(64, 50));

TEST_P(LargeBatchNorm, StreamsTheSameBits) {
  const std::int64_t cols = GetParam();
  const std::int64_t rows = (std::int64_t{1} << 22) / cols + 41;
  const Tensor x = Random({rows, cols}, 1);
  const Tensor dy = Random({rows, cols}, 2);
  const Tensor gamma = Random({cols}, 3);
  const Tensor beta = Random({cols}, 4);
  const std::vector<Tensor> want = BatchNorm(x, gamma, beta, 1e-5f);
  const std::vector<Tensor> want_grad = BatchNormGrad(x, gamma, want[1], want[3], dy);
  OnEveryBackend([&](Backend& backend, const std::string& what) {
    const std::vector<Tensor> got = RunOp(backend, op::batchnorm_train, {1e-5f}, {&x, &gamma, &beta});
    for (std::size_t k = 0; k < want.size(); ++k) ExpectSame(got[k], want[k], what + ", output " + std::to_string(k));
    const std::vector<Tensor> grad = RunOp(backend, op::batchnorm_grad, {}, {&x, &gamma, &want[1], &want[3], &dy});
    for (std::size_t k = 0; k < want_grad.size(); ++k)
      ExpectSame(grad[k], want_grad[k], what + ", gradient " + std::to_string(k));
  });
}

TEST(LargeRow, PiecesOfPieces) {
  const std::int64_t n = 1024 * 1024 + 1024 + 77;
  const Tensor x = Random({1, n}, 5);
  const Tensor gamma = Random({n}, 6);
  const float* v = x.Span<float>().data();
  const float squares = numerics::RowSumSquares(n, [&](std::int64_t i) { return v[i]; });
  const float sum = numerics::RowSum(n, [&](std::int64_t i) { return v[i]; });
  const float rstd = numerics::Rsqrt<numerics::Scalar>(squares / static_cast<float>(n) + 1e-5f);
  OnEveryBackend([&](Backend& backend, const std::string& what) {
    EXPECT_EQ(RunOp(backend, op::rmsnorm, {1e-5f}, {&x, &gamma})[1].Span<float>()[0], rstd) << what;
    EXPECT_EQ(RunOp(backend, op::row_sum, {std::int64_t{1}}, {&x})[0].Span<float>()[0], sum) << what;
    EXPECT_EQ(RunOp(backend, op::sum_squares, {}, {&x})[0].Span<float>()[0], squares) << what;
  });
}

// A product that underflows leaves -0 in a lane, which adding +0 for a missing term would turn into +0. The sign of d = rowdot(y, dy) shows
// in dx = y * (dy - d) where dy is -0.
TEST(RowDot, MissingTermsAreLeftOut) {
  for (std::int64_t n : {33, 40, 50, 65}) {
    Tensor y(DType::kF32, {1, n});
    Tensor dy(DType::kF32, {1, n});
    for (float& v : y.Span<float>()) v = 1e-30f;
    for (float& v : dy.Span<float>()) v = -1e-30f;
    dy.Span<float>()[0] = -0.0f;
    OnEveryBackend([&](Backend& backend, const std::string& what) {
      const float dx = RunOp(backend, op::softmax_grad, {}, {&y, &dy})[0].Span<float>()[0];
      EXPECT_EQ(std::bit_cast<std::uint32_t>(dx), 0u) << what << ", n " << n;
    });
  }
}

}  // namespace
}  // namespace assay::cpu
