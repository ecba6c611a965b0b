#include "differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::observe {
namespace {

std::string Row(const std::string& name, const Differences& d) {
  return fmt::format("| {} | {} | {} | {} | {} | {} | {:.4f} | {} |\n", name, d.exact, d.elements, d.unbounded, d.differ,
                     d.otherwise, d.largest, d.beyond);
}

}  // namespace

Differences& Differences::operator+=(const Differences& other) {
  elements += other.elements;
  differ += other.differ;
  otherwise += other.otherwise;
  unbounded += other.unbounded;
  exact += other.exact;
  beyond += other.beyond;
  largest = std::max(largest, other.largest);
  return *this;
}

Differences Compare(std::span<const double> y, std::span<const double> e, const double* other_y, const double* other_e) {
  constexpr double kMost = std::numeric_limits<double>::max();
  Differences found;
  found.elements = y.size();
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!(e[i] <= kMost && other_e[i] <= kMost)) {
      ++found.unbounded;
      continue;
    }
    if (y[i] == other_y[i] || (std::isnan(y[i]) && std::isnan(other_y[i]))) continue;
    ++found.differ;
    // Infinite where one is not finite, or nothing may differ.
    const double reach = 2 * std::min(e[i], other_e[i]), distance = std::fabs(y[i] - other_y[i]);
    const double ratio = distance <= kMost && reach > 0 ? distance / reach : std::numeric_limits<double>::infinity();
    found.largest = std::max(found.largest, ratio);
    found.beyond += ratio <= 1 + 0x1p-10 ? 0 : 1;
  }
  return found;
}

std::string TableOf(const std::map<std::string, Differences>& by_op) {
  std::string table =
      "| operator | without a bound | with a bound | of these infinite | differ in FP64 | rounded otherwise | largest "
      "difference / 2E | beyond D |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|\n";
  Differences all;
  for (const auto& [name, differences] : by_op) {
    table += Row(name, differences);
    all += differences;
  }
  return table + Row("all", all);
}

}  // namespace assay::observe
