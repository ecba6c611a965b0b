// How far two evaluations of the same elements are apart, beside what docs/ROUNDING.md allows. Value types; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace assay::observe {

struct Differences {
  std::uint64_t elements = 0;   // with a bound
  std::uint64_t differ = 0;     // in FP64
  std::uint64_t otherwise = 0;  // rounded to different values
  std::uint64_t unbounded = 0;  // whose bound is infinite on either side: not compared
  std::uint64_t exact = 0;      // elements of results without a bound
  std::uint64_t beyond = 0;     // farther apart than D, or different where they must be equal
  double largest = 0;           // |y - y'| / 2E, E the lesser of the two bounds, without the 2^-10 that D has more

  Differences& operator+=(const Differences& other);
};

// Each side's values and bounds.
Differences Compare(std::span<const double> y, std::span<const double> e, const double* other_y, const double* other_e);

// By operator; a Markdown table with a line for all of them.
std::string TableOf(const std::map<std::string, Differences>& by_op);

}  // namespace assay::observe
