#include "assay/cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assay/base/allowance.h"

namespace assay::cli {
namespace {

// Three significant digits or so.
std::string Scaled(double value, std::string_view unit) {
  return fmt::format("{:.{}f}{}", value, value < 10 ? 2 : value < 100 ? 1 : 0, unit);
}

}  // namespace

std::string Count(double value) {
  if (!std::isfinite(value)) return "-";
  if (value < 1000)
    return value < 10 && value != std::floor(value) ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
  static constexpr std::string_view kUnits[] = {"k", "M", "G", "T", "P"};
  std::size_t unit = 0;
  value /= 1000;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return Scaled(value, kUnits[unit]);
}

std::string ByteCount(double bytes) {
  constexpr double kMost = 0x1p62;
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  return Amount(static_cast<std::int64_t>(std::clamp(bytes, 0.0, kMost)));
}

std::string Duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
}

std::string Grouped(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string Plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Grouped(count), noun, count == 1 ? "" : "s");
}

std::string Table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += c == 0 ? fmt::format("{:<{}}", row[c], widths[c]) : fmt::format("  {:>{}}", row[c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace assay::cli
