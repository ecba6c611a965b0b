#include "assay/base/nearest.h"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

constexpr std::size_t kLongest = 64;  // what is longer is no misspelt name, and would take long to compare
constexpr std::size_t kShort = 3;     // letters up to which two typos leave too little of a word

// Edits that make `b` of `a`, a swap of neighbours being one.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t changed = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + changed});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.size() > kLongest) return std::nullopt;
  std::optional<std::string> nearest;
  std::size_t least = word.size() <= kShort ? 2 : 3;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t edits = Edits(word, candidate);
    // Of a short word one letter in two must be left.
    const bool too_far = edits > 1 ? 2 * edits >= candidate.size() : edits >= candidate.size();
    if (edits >= least || too_far) continue;
    least = edits;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace assay
