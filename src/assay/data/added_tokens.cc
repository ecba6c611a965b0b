#include "assay/data/added_tokens.h"

#include "assay/base/check.h"

namespace assay {
namespace {

std::uint32_t Key(std::uint32_t node, char c) { return node << 8 | static_cast<std::uint8_t>(c); }

}  // namespace

void AddedTokens::Add(std::string_view spelling, std::uint16_t id) {
  ASSAY_CHECK(!spelling.empty() && spelling.size() <= kMaxBytes);
  std::uint32_t node = 0;
  for (const char c : spelling) {
    const auto [place, added] = next_.try_emplace(Key(node, c), nodes_);
    nodes_ += added ? 1 : 0;
    ASSAY_CHECK(nodes_ < std::uint32_t{1} << 24);  // 65536 spellings of 256 bytes at most
    node = place->second;
  }
  ends_[node] = id;
}

AddedTokens::Match AddedTokens::First(std::string_view text) const {
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    Match found{.begin = begin};
    std::uint32_t node = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      const auto place = next_.find(Key(node, text[at]));
      if (place == next_.end()) break;
      node = place->second;
      if (const auto end = ends_.find(node); end != ends_.end()) {
        found.length = at + 1 - begin;
        found.id = end->second;
      }
    }
    if (found.length > 0) return found;
  }
  return {.begin = text.size()};
}

}  // namespace assay
