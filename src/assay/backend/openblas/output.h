// Output: one result of an op on its way through the rounder to memory. Thread safe for disjoint elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "assay/rounding/rounder.h"

namespace assay::rounded {

// What a test sees and changes of results before they are rounded. With hooks, bounds are always computed.
struct TestHooks {
  // Added to every result whose bound is a number: up to this many times the bound, pseudo-random by place.
  double perturbation = 0;
  std::uint32_t seed = 0;  // of these draws
  bool formulas = false;   // every op by its formula, also where there is a kernel
  bool credulous = false;  // logs that are followed are not examined; as of the backend's making
  // Elements [at, at + y.size()) of an output, in any order, from any thread.
  std::function<void(std::size_t output, std::int64_t at, std::span<const double> y, std::span<const double> e)> observe;
};

class Output {
 public:
  // `first` is the position of element 0; without one results are rounded and no more.
  Output(rounding::Rounder& rounder, std::optional<std::uint64_t> first, std::size_t index, float* out, const TestHooks* hooks)
      : rounder_(rounder), first_(first), index_(index), out_(out), hooks_(hooks) {}

  float* data() const { return out_; }

  // Whether Put needs the bounds of elements [begin, end).
  bool WantsBounds(std::int64_t begin, std::int64_t end) const;

  // Whether bounds of elements [begin, end) are wanted only to find what is close: larger ones will do for the rest, by PutSettled.
  bool TakesRough(std::int64_t begin, std::int64_t end) const {
    return first_ && hooks_ == nullptr &&
           rounder_.WantsOnlyClose(*first_ + static_cast<std::uint64_t>(begin), *first_ + static_cast<std::uint64_t>(end));
  }
  const numerics::Grid& grid() const { return rounder_.grid(); }
  // Elements of which none is close, rounded.
  void PutSettled(const float* rounded, std::int64_t n, std::int64_t at) const { std::copy_n(rounded, n, out_ + at); }

  // Elements [at, at + n). e is null where WantsBounds said no. A zero that has a bound is positive: its sign would depend on the order of a sum, and the truth has none.
  // Uses y as scratch.
  void Put(double* y, const double* e, std::int64_t n, std::int64_t at) const;

 private:
  void Perturb(double* y, const double* e, std::int64_t n, std::int64_t at) const;

  rounding::Rounder& rounder_;
  std::optional<std::uint64_t> first_;
  std::size_t index_;
  float* out_;
  const TestHooks* hooks_;
};

}  // namespace assay::rounded
