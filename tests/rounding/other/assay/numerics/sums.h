// Stands before the header of this name: the same sums with their terms in reverse, so that blocks too begin elsewhere.
#pragma once

#define Sum SumForward
#define Contract ContractForward
#include_next "assay/numerics/sums.h"
#undef Sum
#undef Contract

namespace assay::numerics {

template <class T, class F>
T Sum(std::int64_t n, F&& term) {
  return SumForward<T>(n, [&](std::int64_t i) { return term(n - 1 - i); });
}

template <class T, class A, class B>
T Contract(std::int64_t k, A&& a, B&& b) {
  return ContractForward<T>(k, [&](std::int64_t i) { return a(k - 1 - i); }, [&](std::int64_t i) { return b(k - 1 - i); });
}

}  // namespace assay::numerics
