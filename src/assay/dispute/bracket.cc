#include "assay/dispute/bracket.h"

#include <algorithm>

namespace assay::dispute {

Bracket::Bracket(std::uint32_t groups) {
  for (std::uint32_t group = groups; group-- > 0;) now_.push_back({group});
}

std::optional<Bracket::Pair> Bracket::Next(const std::function<bool(std::uint32_t)>& stands) {
  while (true) {
    if (now_.size() < 2) {
      if (!now_.empty()) next_.push_back(std::move(now_.back()));
      now_.assign(std::make_move_iterator(next_.rbegin()), std::make_move_iterator(next_.rend()));
      next_.clear();
      if (now_.size() < 2) return std::nullopt;
    }
    Camp& first = now_[now_.size() - 1];
    Camp& second = now_[now_.size() - 2];
    for (Camp* camp : {&first, &second}) std::erase_if(*camp, [&](std::uint32_t group) { return !stands(group); });
    for (const std::uint32_t a : first) {
      for (const std::uint32_t b : second) {
        if (!drawn_.contains({a, b})) return Pair{a, b};
      }
    }
    first.insert(first.end(), second.begin(), second.end());
    if (!first.empty()) next_.push_back(std::move(first));
    now_.pop_back();
    now_.pop_back();
  }
}

}  // namespace assay::dispute
