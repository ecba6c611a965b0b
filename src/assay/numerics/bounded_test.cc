#include "assay/numerics/bounded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include "assay/numerics/double_double.h"

namespace assay::numerics {
namespace {

using Near = Bounded<double>;
using True = Bounded<DoubleDouble>;

constexpr double kWiden = 1 + 0x1p-10;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The worst that a correct evaluation can be: each operation is off by the whole error that it may have, up or down by chance.
struct Noisy {
  static inline std::mt19937_64 random{1};
  static DoubleDouble Disturb(const DoubleDouble& v, double relative) {
    return v + v * DoubleDouble((random() & 1) != 0 ? relative : -relative);
  }

  DoubleDouble v;
  bool narrow = false;

  Noisy() = default;
  Noisy(double exact) : v(exact) {}                       // NOLINT
  Noisy(float exact) : v(double{exact}), narrow(true) {}  // NOLINT
  explicit Noisy(const DoubleDouble& value) : v(value) {}

  static Noisy Exactly(const DoubleDouble& v, bool narrow) {
    Noisy r(v);
    r.narrow = narrow;
    return r;
  }
  // What is a binary64 is not rounded.
  static Noisy Rounded(const DoubleDouble& v) { return Noisy(v.lo() == 0 ? v : Disturb(v, kUnit)); }
  static Noisy Function(const DoubleDouble& v) { return Noisy(Disturb(v, kFunction)); }
  friend Noisy operator+(const Noisy& a, const Noisy& b) { return Rounded(a.v + b.v); }
  friend Noisy operator-(const Noisy& a, const Noisy& b) { return Rounded(a.v - b.v); }
  friend Noisy operator*(const Noisy& a, const Noisy& b) {
    return a.narrow && b.narrow ? Noisy(a.v * b.v) : Rounded(a.v * b.v);
  }
  friend Noisy operator/(const Noisy& a, const Noisy& b) { return Rounded(a.v / b.v); }
  friend Noisy operator-(const Noisy& a) { return Exactly(-a.v, a.narrow); }
  friend Noisy Exp(const Noisy& a) { return Function(Exp(a.v)); }
  friend Noisy Log(const Noisy& a) { return Function(Log(a.v)); }
  friend Noisy Sqrt(const Noisy& a) { return Rounded(Sqrt(a.v)); }
  friend Noisy Rsqrt(const Noisy& a) { return Function(Rsqrt(a.v)); }
  friend Noisy Tanh(const Noisy& a) { return Function(Tanh(a.v)); }
  friend Noisy Erf(const Noisy& a) { return Function(Erf(a.v)); }
  friend Noisy Sin(const Noisy& a) { return Function(Sin(a.v)); }
  friend Noisy Cos(const Noisy& a) { return Function(Cos(a.v)); }
  friend Noisy Pow(const Noisy& x, const Noisy& y) { return Function(Pow(x.v, y.v)); }
  friend Noisy Fabs(const Noisy& a) { return Exactly(Fabs(a.v), a.narrow); }
  friend Noisy Max(const Noisy& a, const Noisy& b) { return b.v > a.v ? b : a; }
  friend Noisy Choose(const Noisy& left, const Noisy& right, const Noisy& then, const Noisy& otherwise) {
    return left.v > right.v ? then : otherwise;
  }
};

// Sums by the letter of the specification: one after the other inside blocks, in an order taken by chance.
Noisy SumOf(std::vector<Noisy> terms) {
  std::shuffle(terms.begin(), terms.end(), Noisy::random);
  std::vector<Noisy> sums;
  for (std::size_t begin = 0; begin < terms.size(); begin += 128) {
    Noisy sum = terms[begin];
    for (std::size_t i = begin + 1; i < std::min(begin + 128, terms.size()); ++i) sum = sum + terms[i];
    sums.push_back(sum);
  }
  return sums.size() == 1 ? sums[0] : SumOf(std::move(sums));
}
template <class T, class F>
T AddUp(std::int64_t n, F&& term) {
  if constexpr (std::is_same_v<T, Noisy>) {
    std::vector<Noisy> terms;
    for (std::int64_t i = 0; i < n; ++i) terms.push_back(term(i));
    return SumOf(std::move(terms));
  } else {
    return Sum<T>(n, term);
  }
}

double Distance(const DoubleDouble& a, const DoubleDouble& b) { return ToDouble(Fabs(a - b)); }

// The largest part of its bound that an evaluation used.
struct Worst {
  double near = 0;
  double truth = 0;
};
void Check(const Near& near, const True& truth, const DoubleDouble& value, double plain, Worst& worst) {
  for (const DoubleDouble& v : {value, DoubleDouble(plain), DoubleDouble(near.v)}) {
    const double distance = Distance(v, truth.v);
    ASSERT_TRUE(distance <= near.e * kWiden) << distance << " of " << near.e;
    ASSERT_TRUE(distance <= truth.e * kWiden) << distance << " of " << truth.e;
    if (near.e > 0) worst.near = std::max(worst.near, distance / near.e);
    if (truth.e > 0) worst.truth = std::max(worst.truth, distance / truth.e);
  }
}

// A formula made by chance: every step applies an operation to earlier results.
struct Step {
  unsigned op;
  std::size_t a, b, c;
};
template <class T>
T Evaluate(const std::vector<float>& inputs, const std::vector<Step>& steps) {
  std::vector<T> values;
  for (const float x : inputs) values.push_back(T(x));
  for (const Step& step : steps) {
    const T& a = values[step.a];
    const T& b = values[step.b];
    const T& c = values[step.c];
    switch (step.op) {
      case 0: values.push_back(a + b); break;
      case 1: values.push_back(a - b); break;
      case 2: values.push_back(a * b); break;
      case 3: values.push_back(a / (Fabs(b) + T(0.25))); break;
      case 4: values.push_back(Exp(Tanh(a) * T(3.0))); break;
      case 5: values.push_back(Log(Fabs(a) + T(0.5f))); break;
      case 6: values.push_back(Sqrt(Fabs(a))); break;
      case 7: values.push_back(Rsqrt(a * a + T(0.001f))); break;
      case 8: values.push_back(Erf(a)); break;
      case 9: values.push_back(Sin(a) - Cos(b)); break;
      case 10: values.push_back(Max(a, b)); break;
      case 11: values.push_back(Choose(a, b, c, a + c)); break;
      case 12: values.push_back((a + b) - a); break;  // cancels
      case 13: values.push_back(Pow(Fabs(a) + T(0.5f), Tanh(b) * T(2.0))); break;
      case 14: values.push_back(a / (b - b * T(1.0009765625f))); break;
      default: values.push_back(-a); break;
    }
  }
  return values.back();
}

TEST(Bounded, RandomFormulasKeepTheirBounds) {
  std::mt19937_64 random(1);
  Worst worst;
  int finite = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<float> inputs(4);
    for (float& x : inputs) x = static_cast<float>(std::normal_distribution<double>()(random) * (random() % 4 == 0 ? 8 : 1));
    if (round % 5 == 0) inputs[1] = inputs[0];
    std::vector<Step> steps;
    for (std::size_t n = inputs.size(); n < inputs.size() + 1 + random() % 9; ++n) {
      const auto pick = [&] { return random() % 2 == 0 ? n - 1 : random() % n; };
      steps.push_back({static_cast<unsigned>(random() % 16), pick(), pick(), pick()});
    }
    const Near near = Evaluate<Near>(inputs, steps);
    if (!(std::fabs(near.v) < 1e30)) continue;
    const True truth = Evaluate<True>(inputs, steps);
    ++finite;
    for (int k = 0; k < 4; ++k) {
      Check(near, truth, Evaluate<Noisy>(inputs, steps).v, Evaluate<double>(inputs, steps), worst);
      if (HasFatalFailure()) {
        for (const Step& s : steps) std::printf("op %u of %zu %zu %zu\n", s.op, s.a, s.b, s.c);
        return;
      }
    }
  }
  EXPECT_GT(finite, 3000);
  std::printf("random formulas use up to %.3f of the bound, %.3f of the referee's\n", worst.near, worst.truth);
}

// Whole operators.
template <class T>
std::vector<T> Softmax(const std::vector<float>& x) {
  T m(x[0]);
  for (const float v : x) m = Max(m, T(v));
  std::vector<T> e;
  for (const float v : x) e.push_back(Exp(T(v) - m));
  const T s = AddUp<T>(static_cast<std::int64_t>(x.size()), [&](std::int64_t i) { return e[static_cast<std::size_t>(i)]; });
  for (T& v : e) v = v / s;
  return e;
}
template <class T>
std::vector<T> LayerNorm(const std::vector<float>& x) {
  const auto n = static_cast<std::int64_t>(x.size());
  const auto at = [&](std::int64_t i) { return T(x[static_cast<std::size_t>(i)]); };
  const T size(static_cast<float>(n));
  const T mean = AddUp<T>(n, at) / size;
  const T var = AddUp<T>(n, [&](std::int64_t i) { return (at(i) - mean) * (at(i) - mean); }) / size;
  const T rstd = Rsqrt(var + T(1e-5f));
  std::vector<T> y;
  for (std::int64_t i = 0; i < n; ++i) y.push_back((at(i) - mean) * rstd);
  return y;
}
template <class T>
std::vector<T> Adam(const std::vector<float>& x) {
  std::vector<T> y;
  for (std::size_t i = 0; i + 2 < x.size(); i += 3) {
    const T g = T(x[i]) * T(0.37f);
    const T m = T(0.9f) * T(x[i + 1]) + (T(1.0f) - T(0.9f)) * g;
    const T v = T(0.999f) * T(std::fabs(x[i + 2]) * 1e-3f) + ((T(1.0f) - T(0.999f)) * g) * g;
    const T c1 = T(1.0f) - Pow(T(0.9f), T(37.0f));
    const T c2 = T(1.0f) - Pow(T(0.999f), T(37.0f));
    y.push_back(T(x[i]) - (T(1e-3f) / c1) * (m / (Sqrt(v) / Sqrt(c2) + T(1e-8f))));
  }
  return y;
}

TEST(Bounded, OperatorsKeepTheirBounds) {
  std::mt19937_64 random(2);
  const auto check = [&](const char* name, auto near_of, auto true_of, auto noisy_of, auto double_of) {
    Worst worst;
    for (const std::size_t n : {3u, 40u, 128u, 129u, 1000u, 17000u}) {
      std::vector<float> x(n);
      for (float& v : x) v = static_cast<float>(std::normal_distribution<double>()(random) * 3);
      const auto near = near_of(x);
      const auto truth = true_of(x);
      const auto noisy = noisy_of(x);
      const auto plain = double_of(x);
      for (std::size_t i = 0; i < near.size(); ++i) {
        Check(near[i], truth[i], noisy[i].v, plain[i], worst);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
    std::printf("%s uses up to %.3f of the bound, %.3f of the referee's\n", name, worst.near, worst.truth);
  };
  check("softmax", Softmax<Near>, Softmax<True>, Softmax<Noisy>, Softmax<double>);
  check("layernorm", LayerNorm<Near>, LayerNorm<True>, LayerNorm<Noisy>, LayerNorm<double>);
  check("adam", Adam<Near>, Adam<True>, Adam<Noisy>, Adam<double>);
}

TEST(Bounded, ContractionsKeepTheirBoundsInEveryOrder) {
  std::mt19937_64 random(3);
  for (const std::int64_t k : {0, 1, 7, 128, 129, 1000, 16384, 20000}) {
    std::vector<float> a(static_cast<std::size_t>(k));
    std::vector<float> b(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Half of the pairs cancel, so that the sum is small beside its terms.
      a[i] = static_cast<float>(std::normal_distribution<double>()(random));
      b[i] = i % 2 == 1 ? static_cast<float>(-double{a[i - 1]} * b[i - 1] / a[i])
                        : static_cast<float>(std::normal_distribution<double>()(random));
    }
    const auto at_a = [&](std::int64_t i) { return a[static_cast<std::size_t>(i)]; };
    const auto at_b = [&](std::int64_t i) { return b[static_cast<std::size_t>(i)]; };
    const auto near = Contract<Near>(k, at_a, at_b);
    const auto truth = Contract<True>(k, at_a, at_b);
    EXPECT_EQ(near.v, (Contract<double>(k, at_a, at_b)));
    EXPECT_LE(Distance(near.v, truth.v), near.e);
    EXPECT_NEAR(near.e, truth.e, 0x1p-40 * near.e);
    // One block after the other, each in ascending and in descending order, with the whole error in every addition.
    for (const bool descending : {false, true}) {
      Noisy total(0.0f);
      const std::int64_t block = ContractionBlock(k);
      for (std::int64_t begin = 0; begin < k; begin += block) {
        const std::int64_t end = std::min(begin + block, k);
        Noisy sum(0.0);
        for (std::int64_t i = 0; i < end - begin; ++i) {
          const std::int64_t at = descending ? end - 1 - i : begin + i;
          sum = sum + Noisy(at_a(at)) * Noisy(at_b(at));
        }
        total = total + sum;
      }
      EXPECT_LE(Distance(total.v, truth.v), near.e);
    }
  }
}

TEST(Bounded, SumsOfEveryLengthAreComplete) {
  for (const std::int64_t n : {0, 1, 7, 8, 9, 127, 128, 129, 1000, 16384, 16385, 40000, 128 * 128 * 128 + 5}) {
    const auto number = [](std::int64_t i) { return static_cast<double>(i + 1); };
    const double whole = static_cast<double>(n) * static_cast<double>(n + 1) / 2;  // all partial sums are exact
    EXPECT_EQ((Sum<double>(n, number)), whole) << n;
    const auto near = Sum<Near>(n, [&](std::int64_t i) { return Near(number(i), 0.5); });
    EXPECT_EQ(near.v, whole);
    EXPECT_NEAR(near.e, 0.5 * static_cast<double>(n), 1e-9 * whole);
    EXPECT_EQ((Sum<True>(n, [&](std::int64_t i) { return True(number(i)); }).v), DoubleDouble(whole));
  }
}

TEST(Bounded, ProductsOfNarrowValuesAreExact) {
  const Near a(1.1f);
  EXPECT_EQ((a * a).e, 0);
  EXPECT_GT((a * Near(1.5)).e, 0);
  EXPECT_GT((a * a * a).e, 0);
  EXPECT_EQ((-a * Fabs(-a)).e, 0);
}

TEST(Bounded, UncertainDivisorsGiveNoBound) {
  for (const double e : {0.5, 1.0, 2.0, kInfinity}) EXPECT_EQ((Near(1.0) / Near(1.0, e)).e, kInfinity) << e;
  EXPECT_EQ((Near(0.0) / Near(0.0, 1.0)).e, kInfinity);
  EXPECT_EQ((Near(1.0) / Near(0.0)).e, kInfinity);
  EXPECT_LT((Near(1.0) / Near(1.0, 0.25)).e, 1.0);
  EXPECT_EQ(Log(Near(1.0, 0.5)).e, kInfinity);
  EXPECT_EQ(Rsqrt(Near(1.0, 0.75)).e, kInfinity);
  // Values that overflow on the way to an ordinary one.
  const Near sigmoid = Near(1.0) / (Near(1.0) + Exp(-Near(-1000.0f)));
  EXPECT_EQ(sigmoid.v, 0);
  EXPECT_EQ(sigmoid.e, 0);
  const Near hidden = Exp(Near(-std::numeric_limits<float>::infinity()) - Near(1.0f));
  EXPECT_EQ(hidden.v, 0);
  EXPECT_EQ(hidden.e, 0);
}

TEST(Bounded, OpenComparisonsReachTheOtherResult) {
  const Near a(1.0, 0.01);
  const Near b(1.01, 0.01);
  const Near open = Choose(a, b, Near(5.0), Near(2.0));
  EXPECT_EQ(open.v, 2.0);
  EXPECT_GE(open.e, 3.0);
  const Near settled = Choose(a, Near(2.0, 0.01), Near(5.0), Near(2.0));
  EXPECT_EQ(settled.e, 0);
  EXPECT_EQ(Choose(Near(1.0f), Near(1.0f), Near(5.0), Near(2.0)).e, 0);  // exact, and equal
  EXPECT_EQ(Choose(Near(1.0, kInfinity), Near(1.0f), Near(5.0), Near(2.0)).e, 3.0);
  EXPECT_EQ(Choose(2.0, 1.0, 5.0, 2.0), 5.0);
  EXPECT_EQ(Max(a, Near(1.0, 0.5)).e, 0.5);
  EXPECT_EQ(Max(a, Near(9.0, 0.5)).e, 0.5);
  EXPECT_EQ(Max(Near(9.0, 0.5), a).v, 9.0);
  EXPECT_TRUE(std::isnan(Max(1.0, std::nan(""))) && std::isnan(Max(std::nan(""), 1.0)));
}

}  // namespace
}  // namespace assay::numerics
