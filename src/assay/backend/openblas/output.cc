#include "assay/backend/openblas/output.h"

#include <algorithm>
#include <cmath>

#include "assay/base/philox.h"

namespace assay::rounded {

bool Output::WantsBounds(std::int64_t begin, std::int64_t end) const {
  if (!first_) return false;
  return hooks_ != nullptr ||
         rounder_.WantsBounds(*first_ + static_cast<std::uint64_t>(begin), *first_ + static_cast<std::uint64_t>(end));
}

void Output::Put(double* y, const double* e, std::int64_t n, std::int64_t at) const {
  if (!first_) return rounder_.RoundExact(y, n, out_ + at);
  for (std::int64_t i = 0; i < n; ++i) y[i] += 0.0;
  if (hooks_ != nullptr && e != nullptr) {
    if (hooks_->perturbation != 0) Perturb(y, e, n, at);
    if (hooks_->observe) hooks_->observe(index_, at, {y, static_cast<std::size_t>(n)}, {e, static_cast<std::size_t>(n)});
  }
  rounder_.Round(y, e, n, *first_ + static_cast<std::uint64_t>(at), out_ + at);
}

void Output::Perturb(double* y, const double* e, std::int64_t n, std::int64_t at) const {
  for (std::int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(y[i]) || !(e[i] > 0) || !std::isfinite(e[i])) continue;
    const std::uint32_t draw =
        Philox({static_cast<std::uint32_t>(index_), hooks_->seed}, {static_cast<std::uint32_t>(at + i), 0, 0, 0})[0];
    const double moved = y[i] + e[i] * hooks_->perturbation * (static_cast<double>(draw) * 0x1p-31 - 1.0);
    // Bounds of less than an ulp are common: the rounding of the sum must not lead out of them.
    if (std::fabs(moved - y[i]) <= e[i] * std::max(1.0, std::fabs(hooks_->perturbation))) y[i] = moved;
  }
}

}  // namespace assay::rounded
