// The grid to which rounded FP64 training rounds: binary32 values whose last 32 - bits mantissa bits are zero (docs/ROUNDING.md, section 1).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "assay/numerics/host_device.h"

namespace assay::numerics {

class Grid {
 public:
  static constexpr int kMinBits = 24;
  static constexpr int kMaxBits = 32;

  ASSAY_HD explicit constexpr Grid(int bits)
      : dropped_(20 + 9 + 32 - bits) {}  // mantissa bits of binary64 that a grid value does not have

  ASSAY_HD constexpr int bits() const { return 61 - dropped_; }

  // The nearest grid value, ties to even.
  ASSAY_HD float Round(double y) const {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(y);
    const std::uint64_t magnitude = bits & kMagnitude;
    if (magnitude < kLeastNormal) return RoundSmall(y);
    if (magnitude > kInfinity) return std::bit_cast<float>(0x7fc00000u);
    const std::uint64_t rounded = bits + ((std::uint64_t{1} << (dropped_ - 1)) - 1) + ((bits >> dropped_) & 1);
    return static_cast<float>(std::bit_cast<double>(rounded & ~((std::uint64_t{1} << dropped_) - 1)));
  }

  // The distance of neighbouring grid values in the binade of y.
  ASSAY_HD double Spacing(double y) const {
    std::uint64_t exponent = std::bit_cast<std::uint64_t>(y) & kInfinity;
    if (exponent < kLeastNormal) exponent = kLeastNormal;
    return std::bit_cast<double>(exponent) * std::bit_cast<double>(std::uint64_t(1023 - (52 - dropped_)) << 52);
  }

  // The neighbours of a finite grid value; from the largest, infinity.
  ASSAY_HD float Above(float r) const { return r >= 0 ? Away(r) : Toward(r); }
  ASSAY_HD float Below(float r) const { return r > 0 ? Toward(r) : -Away(-r); }

  // The distance of neighbours as patterns of binary32.
  ASSAY_HD std::uint32_t step() const { return std::uint32_t{1} << (dropped_ - 29); }

  friend bool operator==(const Grid&, const Grid&) = default;

 private:
  static constexpr std::uint64_t kMagnitude = 0x7fffffffffffffff;
  static constexpr std::uint64_t kInfinity = 0x7ff0000000000000;
  static constexpr std::uint64_t kLeastNormal = std::uint64_t{1023 - 126} << 52;

  ASSAY_HD float RoundSmall(double y) const {
    const double spacing = Spacing(0);
    return static_cast<float>(std::nearbyint(y / spacing) * spacing);
  }
  ASSAY_HD float Away(float r) const {
    return std::bit_cast<float>((std::bit_cast<std::uint32_t>(r) & 0x7fffffffu) + step());
  }  // r >= 0
  ASSAY_HD float Toward(float r) const {  // r != 0
    const float magnitude = std::bit_cast<float>((std::bit_cast<std::uint32_t>(r) & 0x7fffffffu) - step());
    return r < 0 ? -magnitude : magnitude;
  }

  int dropped_;
};

}  // namespace assay::numerics
