// Products with digits on every unit of this machine against digitsum of docs/NUMERICS.md, section 7, written out as the page has it.
#include "assay/backend/cpu/digit_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "assay/backend/cpu/digit_units.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/base/philox.h"
#include "assay/base/thread_pool.h"

namespace assay::cpu {
namespace {

// The integers and the scale of a block.
struct Block {
  std::vector<std::int64_t> q;
  float scale = 0;
};

Block IntegersOf(const std::vector<float>& x, int n) {
  std::uint32_t u = 0;
  for (float value : x) u = std::max(u, std::bit_cast<std::uint32_t>(value) & 0x7fffffffu);
  if (u >= 0x7f800000u) return {std::vector<std::int64_t>(x.size(), 0), NAN};
  const int e = std::max(23, static_cast<int>(u >> 23) + ((u & 0x7fffffu) > 0x7efefeu ? 1 : 0));
  Block block{.q = {}, .scale = std::ldexp(1.0f, e - 129 - 4 * n)};
  for (float value : x) {
    block.q.push_back(static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<double>(value), 125 + 8 * n - e))));
  }
  return block;
}

// d_i of q = sum of d_i · 256^i with digits in -128 … 127.
std::int64_t Digit(std::int64_t q, int i) {
  for (;; --i) {
    const std::int64_t d = ((q + 128) & 255) - 128;
    if (i == 0) return d;
    q = (q - d) / 256;
  }
}

float Joined(const Block& a, const Block& b, int n) {
  std::int64_t p[3] = {0, 0, 0};
  for (std::size_t k = 0; k < a.q.size(); ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        const int order = 2 * (n - 1) - i - j;
        if (order < n) p[order] += Digit(a.q[k], i) * Digit(b.q[k], j);
      }
    }
  }
  const auto upper = static_cast<float>(256 * p[0] + p[1]);
  return n == 2 ? upper : std::fma(upper, 256.0f, static_cast<float>(p[2]));
}

enum class Values { kNormal, kOutliers, kSpecial, kSubnormal, kZero, kEqual, kOneHuge, kExtreme };

std::vector<float> MakeValues(std::int64_t count, std::uint32_t seed, Values values) {
  static constexpr float kSpecials[] = {0.0f, -0.0f, 1e-42f, -1e-42f,  INFINITY, -INFINITY,
                                        NAN,  3e38f, -3e38f, 1.2e-38f, -1e-30f};
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const PhiloxBlock draw = Philox({seed, 11}, {static_cast<std::uint32_t>(i), 0, 0, 0});
    float x = static_cast<float>(static_cast<std::int32_t>(draw[0])) * 0x1p-31f;
    switch (values) {
      case Values::kNormal: break;
      case Values::kOutliers: x = i % 97 == 0 ? 300.0f * x : std::ldexp(x, static_cast<int>(draw[1] % 40) - 20); break;
      case Values::kSpecial:
        if (draw[1] % 499 == 0) x = kSpecials[draw[2] % std::size(kSpecials)];
        break;
      case Values::kSubnormal: x = std::ldexp(x, -127); break;
      case Values::kZero: x = draw[1] % 2 == 0 ? 0.0f : -0.0f; break;
      case Values::kEqual: x = seed % 2 == 0 ? 0x1.fefefep+3f : -0x1.fefefep+3f; break;
      case Values::kOneHuge: x = i % 613 == 7 ? 3.4e38f : x; break;
      // Digits at the ends of their range: -128 twice in a row is what 16-bit sums cannot hold, 7f7f7f the greatest integer.
      case Values::kExtreme: {
        static constexpr float kEnds[] = {-0x808080 * 0x1p-24f, 0x7f7f7f * 0x1p-23f, -0x7f7f7f * 0x1p-23f, 0x808080 * 0x1p-24f,
                                          -0x800000 * 0x1p-23f};
        x = kEnds[draw[1] % 5];
        if (draw[1] % 1000 > 3 && x == -1.0f) x = kEnds[0];
        break;
      }
    }
    out[i] = x;
  }
  return out;
}

struct Case {
  std::int64_t m, n, k;
  Values a = Values::kNormal, b = Values::kNormal;
};

std::vector<Block> BlocksOf(const std::vector<float>& values, std::int64_t lines, std::int64_t k, bool adjacent, int n) {
  std::vector<Block> blocks;
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t k0 = 0; k0 < k; k0 += 256) {
      std::vector<float> x;
      for (std::int64_t kk = k0; kk < std::min(k, k0 + 256); ++kk)
        x.push_back(values[static_cast<std::size_t>(adjacent ? kk * lines + i : i * k + kk)]);
      blocks.push_back(IntegersOf(x, n));
    }
  }
  return blocks;
}

std::vector<std::uint32_t> Expected(const Case& c, const std::vector<Block>& a, const std::vector<Block>& b, int n) {
  const std::int64_t blocks = (c.k + 255) / 256;
  std::vector<std::uint32_t> out;
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      float total = 0.0f;
      for (std::int64_t p = 0; p < blocks; ++p) {
        const Block& x = a[static_cast<std::size_t>(i * blocks + p)];
        const Block& y = b[static_cast<std::size_t>(j * blocks + p)];
        const float scale = x.scale * y.scale;
        const float part = Joined(x, y, n) * scale;
        total = total + part;
      }
      out.push_back(total != total ? 0x7fc00000u : std::bit_cast<std::uint32_t>(total));
    }
  }
  return out;
}

void Check(const Case& c) {
  const std::vector<float> a = MakeValues(c.m * c.k, 1, c.a), b = MakeValues(c.n * c.k, 2, c.b);
  for (int digits : {2, 3}) {
    for (int layout = 0; layout < 4; ++layout) {
      const bool a_adjacent = (layout & 1) != 0, b_adjacent = (layout & 2) != 0;
      const std::vector<std::uint32_t> expected =
          Expected(c, BlocksOf(a, c.m, c.k, a_adjacent, digits), BlocksOf(b, c.n, c.k, b_adjacent, digits), digits);
      for (Simd simd : SupportedSimd()) {
        for (DigitUnit unit : DigitUnits(simd)) {
          for (int threads : {1, 2, 7}) {
            ThreadPool pool(threads);
            Context context(pool, unit);
            constexpr std::size_t kGuard = 64;
            constexpr std::uint32_t kMark = 0xa55aa55au;
            std::vector<std::uint32_t> out(expected.size() + 2 * kGuard, kMark);
            const DigitContraction task{.m = c.m,
                                        .n = c.n,
                                        .k = c.k,
                                        .digits = digits,
                                        .a = {a.data(), a_adjacent ? c.m : c.k, a_adjacent},
                                        .b = {b.data(), b_adjacent ? c.n : c.k, b_adjacent},
                                        .c = reinterpret_cast<float*>(out.data() + kGuard),
                                        .c_stride = c.n};
            DigitGemm(task, simd, context);
            const std::string what = std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + " layout " +
                                     std::to_string(layout) + ", " + std::to_string(digits) + " digits, " +
                                     std::string(Name(simd)) + " " + std::string(Name(unit)) + ", " + std::to_string(threads) +
                                     " threads";
            for (std::size_t i = 0; i < expected.size(); ++i) {
              ASSERT_EQ(out[kGuard + i], expected[i])
                  << what << ", element " << i << ": got " << std::bit_cast<float>(out[kGuard + i]) << ", expected "
                  << std::bit_cast<float>(expected[i]);
            }
            for (std::size_t i = 0; i < kGuard; ++i) {
              ASSERT_EQ(out[i], kMark) << what;
              ASSERT_EQ(out[kGuard + expected.size() + i], kMark) << what;
            }
          }
        }
      }
    }
  }
}

TEST(DigitGemmTest, TailsInRowsAndColumns) {
  for (std::int64_t m : {1, 3, 4, 5, 6, 7, 13, 16, 17, 33}) {
    for (std::int64_t n : {1, 7, 8, 9, 16, 31, 32, 33, 67}) Check({.m = m, .n = n, .k = 19});
  }
}

TEST(DigitGemmTest, DepthsAroundBlocksAndChunks) {
  for (std::int64_t k : {0,   1,   2,   3,   4,   5,   15,  16,  17,  31,  33,  63,  64,  65,
                         127, 128, 130, 191, 193, 254, 255, 256, 257, 260, 511, 512, 513, 1025}) {
    Check({.m = 7, .n = 37, .k = k});
  }
}

TEST(DigitGemmTest, ManyBlocks) {
  Check({.m = 3, .n = 5, .k = 100000});
  Check({.m = 2, .n = 35, .k = 8200, .a = Values::kOutliers});
}

TEST(DigitGemmTest, ManyPieces) { Check({.m = 701, .n = 5, .k = 4500}); }
TEST(DigitGemmTest, ManyPanels) { Check({.m = 5, .n = 741, .k = 4500}); }

TEST(DigitGemmTest, EveryKindOfValue) {
  for (std::int64_t k : {1, 100, 255, 256, 257, 600}) {
    for (Values values : {Values::kOutliers, Values::kSpecial, Values::kSubnormal, Values::kZero, Values::kEqual,
                          Values::kOneHuge, Values::kExtreme}) {
      Check({.m = 19, .n = 41, .k = k, .a = values, .b = values});
      Check({.m = 19, .n = 41, .k = k, .a = values});
      Check({.m = 19, .n = 41, .k = k, .b = values});
    }
  }
}

}  // namespace
}  // namespace assay::cpu
