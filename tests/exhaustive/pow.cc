// pow has two arguments, so not all pairs: every step of a long training for the usual decay rates, and many pairs drawn at random.
#include <array>
#include <bit>

#include "assay/base/philox.h"
#include "exhaustive/exhaustive.h"

namespace assay::testkit {
namespace {

constexpr std::array<float, 5> kBetas = {0.9f, 0.95f, 0.99f, 0.999f, 0.9999f};
constexpr std::int64_t kSteps = 1000000;
constexpr std::int64_t kPairs = 200000000;
constexpr std::array<float, 16> kSpecials = {0.0f,
                                             -0.0f,
                                             1.0f,
                                             -1.0f,
                                             2.0f,
                                             -2.0f,
                                             0.5f,
                                             -3.0f,
                                             0x1p-149f,
                                             0x1p-126f,
                                             0x1p24f,
                                             0x1.fffffep127f,
                                             -0x1.fffffep127f,
                                             std::bit_cast<float>(0x7f800000u),
                                             std::bit_cast<float>(0xff800000u),
                                             std::bit_cast<float>(0x7fc00000u)};

double ErrorOfPow(float x, float y, float got) {
  const double error = numerics::UlpError(got, std::pow(static_cast<double>(x), static_cast<double>(y)));
#ifdef ASSAY_HAVE_MPFR
  if (error > 0.9999) {
    mpfr_t a, b, z;
    mpfr_inits2(24, a, b, static_cast<mpfr_ptr>(nullptr));
    mpfr_init2(z, 120);
    mpfr_set_flt(a, x, MPFR_RNDN);
    mpfr_set_flt(b, y, MPFR_RNDN);
    mpfr_pow(z, a, b, MPFR_RNDN);
    const double exact = numerics::UlpError(got, mpfr_get_d(z, MPFR_RNDN));
    mpfr_clears(a, b, z, static_cast<mpfr_ptr>(nullptr));
    return exact;
  }
#endif
  return error;
}

// Any bits, special values, and pairs whose power is likely to be finite.
std::array<float, 2> Pair(std::int64_t i) {
  const PhiloxBlock draw = Philox({11, 12}, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0});
  const float any_x = std::bit_cast<float>(draw[0]), any_y = std::bit_cast<float>(draw[1]);
  const float near_one = std::bit_cast<float>(0x3f000000u + draw[0] % 0x01000000u);
  const float moderate =
      (static_cast<float>(draw[1] >> 8) * 0x1p-24f - 0.5f) * std::bit_cast<float>((120u + draw[2] % 24) << 23);
  switch (draw[3] % 8) {
    case 0: return {any_x, any_y};
    case 1: return {kSpecials[draw[2] % 16], any_y};
    case 2: return {any_x, kSpecials[draw[2] % 16]};
    case 3: return {kSpecials[draw[2] % 16], kSpecials[draw[1] % 16]};
    case 4: return {any_x, static_cast<float>(static_cast<std::int32_t>(draw[1] % 64) - 32)};
    default: return {near_one, moderate};
  }
}

}  // namespace

bool CheckPow(ThreadPool& pool) {
  Findings steps, pairs;
  pool.ParallelFor(kSteps, 10000, [&](std::int64_t begin, std::int64_t end, int) {
    Findings::Part part;
    for (std::int64_t step = begin + 1; step <= end; ++step) {
      for (float beta : kBetas) {
        const float exponent = static_cast<float>(step);
        part.Add(exponent, ErrorOfPow(beta, exponent, numerics::PowScalar(beta, exponent)));
      }
    }
    steps.Merge(part);
  });
  pool.ParallelFor(kPairs, 100000, [&](std::int64_t begin, std::int64_t end, int) {
    Findings::Part part;
    for (std::int64_t i = begin; i < end; ++i) {
      const auto [x, y] = Pair(i);
      part.Add(x, ErrorOfPow(x, y, numerics::PowScalar(x, y)));
    }
    pairs.Merge(part);
  });
  const bool good_steps = steps.Report("steps"), good_pairs = pairs.Report("pow");
  return good_steps && good_pairs;
}

}  // namespace assay::testkit
