// Sum and Contract: sums of n terms in the number types of bounded.h, with the orders and bounds of docs/ROUNDING.md, sections 2 and 3.
//
// Sum<T>(n, term) adds term(0) ... term(n - 1), each a T. Contract<T>(k, a, b) adds the products of a(i) and b(i), binary32 values. In double both add in 8 lanes inside blocks; the bounds
// hold for every order that the specification allows. term is called once for each index, a and b perhaps several times. Pure; nothing is allocated.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "assay/numerics/bounded.h"

namespace assay::numerics {

// The most additions that a term of a sum of n passes through.
ASSAY_HD constexpr double SumDepth(std::int64_t n) {
  constexpr std::int64_t kBlock = 128;
  double depth = 0;
  for (; n > kBlock; n = (n + kBlock - 1) / kBlock) depth += static_cast<double>(kBlock);
  return depth + static_cast<double>(n);
}

// Contractions of k products are computed in blocks of this many.
ASSAY_HD constexpr std::int64_t ContractionBlock(std::int64_t k) { return k < 16384 ? 128 : 256; }
ASSAY_HD constexpr double ContractionDepth(std::int64_t k) {
  const std::int64_t block = ContractionBlock(k);
  return static_cast<double>((k < block ? k : block) + (k + block - 1) / block);
}

// Sums of binary32 values are often exact: a value is a multiple of its quantum, so is every partial sum, and one of at most 2^53 quanta is a binary64.
ASSAY_HD inline double QuantumOf(double v) {
  if (v == 0) return std::numeric_limits<double>::infinity();
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & 0x7ff0000000000000) * 0x1p-23;
}
// The least quantum of a sum's terms; 0 if one of them is no binary32.
template <class V>
ASSAY_HD double QuantumOf(const Bounded<V>& t) {
  return t.narrow ? QuantumOf(ToDouble(t.v)) : 0;
}
// e of a sum of n terms from what its terms add up to.
ASSAY_HD inline double SumError(double depth, double e, double magnitude, double quantum) {
  if (e == 0 && magnitude <= 0x1p52 * quantum) return 0;  // half of it: the magnitude is computed itself
  return e + depth * kUnit * (magnitude + e);
}

namespace internal {

// What is added up for a T: the value; for Bounded also the errors and the magnitudes of the terms.
struct PlainPart {
  double v = 0;
  PlainPart() = default;
  ASSAY_HD explicit PlainPart(double t) : v(t) {}
  ASSAY_HD PlainPart& operator+=(const PlainPart& b) {
    v += b.v;
    return *this;
  }
};
template <class V>
struct BoundedPart {
  V v{};
  double e = 0;
  double magnitude = 0;
  double quantum = std::numeric_limits<double>::infinity();
  BoundedPart() = default;
  ASSAY_HD explicit BoundedPart(const Bounded<V>& t) : v(t.v), e(t.e), magnitude(t.magnitude()), quantum(QuantumOf(t)) {}
  ASSAY_HD BoundedPart& operator+=(const BoundedPart& b) {
    v = v + b.v;
    e += b.e;
    magnitude += b.magnitude;
    quantum = b.quantum < quantum ? b.quantum : quantum;
    return *this;
  }
};

// Terms [begin, begin + n) of a block.
template <class Part, class F>
ASSAY_HD Part SumBlock(std::int64_t begin, std::int64_t n, F& term) {
  constexpr int kLanes = 8;
  Part lanes[kLanes];
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lanes[l] += Part(term(begin + i + l));
  }
  for (int l = 0; i < n; ++i, ++l) lanes[l] += Part(term(begin + i));
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// Blocks of 128 terms, blocks of 128 sums of blocks, and so on.
template <class Part, class F>
ASSAY_HD Part SumBlocks(std::int64_t n, F& term) {
  constexpr std::int64_t kBlock = 128;
  if (n <= kBlock) return SumBlock<Part>(0, n, term);
  constexpr int kLevels = 9;  // 128^9 = 2^63
  Part sums[kLevels + 1];
  std::int64_t counts[kLevels + 1] = {};
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    Part sum = SumBlock<Part>(begin, n - begin < kBlock ? n - begin : kBlock, term);
    int level = 0;
    while (counts[level] == kBlock) {  // full: it is one term of the next level
      const Part full = sums[level];
      sums[level] = sum;
      counts[level] = 1;
      sum = full;
      ++level;
    }
    sums[level] += sum;
    ++counts[level];
  }
  for (int level = 0; level < kLevels; ++level) sums[level + 1] += sums[level];
  return sums[kLevels];
}

template <class T>
struct PartOf {
  using Type = PlainPart;
};
template <class V>
struct PartOf<Bounded<V>> {
  using Type = BoundedPart<V>;
};

template <class V, class A, class B>
ASSAY_HD V Products(std::int64_t k, A& a, B& b) {
  if constexpr (std::is_same_v<V, double>) {
    const std::int64_t block = ContractionBlock(k);
    auto product = [&](std::int64_t i) { return double{a(i)} * double{b(i)}; };
    double total = 0;
    for (std::int64_t begin = 0; begin < k; begin += block) {
      total += SumBlock<PlainPart>(begin, k - begin < block ? k - begin : block, product).v;
    }
    return total;
  } else {
    V total{};
    for (std::int64_t i = 0; i < k; ++i) total = total + V(double{a(i)} * double{b(i)});
    return total;
  }
}

template <class A>
ASSAY_HD double Norm(std::int64_t k, A& a) {
  auto square = [&](std::int64_t i) { return double{a(i)} * double{a(i)}; };
  return std::sqrt(SumBlocks<PlainPart>(k, square).v);
}

template <class T>
struct Contraction {
  template <class A, class B>
  ASSAY_HD static T Of(std::int64_t k, A& a, B& b) {
    return Products<T>(k, a, b);
  }
};
template <class V>
struct Contraction<Bounded<V>> {
  template <class A, class B>
  ASSAY_HD static Bounded<V> Of(std::int64_t k, A& a, B& b) {
    return {Products<V>(k, a, b), ContractionDepth(k) * kUnit * Norm(k, a) * Norm(k, b) * (1 + 0x1p-20)};
  }
};

}  // namespace internal

template <class T, class F>
ASSAY_HD T Sum(std::int64_t n, F&& term) {
  const auto sum = internal::SumBlocks<typename internal::PartOf<T>::Type>(n, term);
  if constexpr (std::is_same_v<T, double>) {
    return sum.v;
  } else {
    return T(sum.v, SumError(SumDepth(n), sum.e, sum.magnitude, sum.quantum));
  }
}

template <class T, class A, class B>
ASSAY_HD T Contract(std::int64_t k, A&& a, B&& b) {
  return internal::Contraction<T>::Of(k, a, b);
}

}  // namespace assay::numerics
