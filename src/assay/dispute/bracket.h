// Bracket: which groups meet next. Neighbours meet, and whoever stands goes on to the next round; so n groups need at most n - 1 matches and none plays more than
// ceil(log2 n). Groups whose match could not be decided go on together, and meet the others one by one. Value type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace assay::dispute {

class Bracket {
 public:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;

  explicit Bracket(std::uint32_t groups);

  // The next match; none: no two groups that stand are left to meet. A match must have ended before the next is asked for.
  std::optional<Pair> Next(const std::function<bool(std::uint32_t)>& stands);
  // The match of these two left both standing.
  void Drawn(Pair pair) { drawn_.insert(pair); }

 private:
  using Camp = std::vector<std::uint32_t>;  // groups none of which could be decided against another
  std::vector<Camp> now_, next_;            // what is left of this round, last first; who has come through it
  std::set<Pair> drawn_;
};

}  // namespace assay::dispute
