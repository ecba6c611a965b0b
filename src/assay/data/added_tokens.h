// Tokens that a text is searched for as it stands, before it is cut into words: the first place where one is, and of several there the longest.
// Immutable once it is filled; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace assay {

class AddedTokens {
 public:
  // Of a token's spelling, so that a text is searched in linear time.
  static constexpr std::size_t kMaxBytes = 256;

  struct Match {
    std::size_t begin = 0, length = 0;  // length 0: there is none, and begin is the end of the text
    std::uint16_t id = 0;
  };

  // `spelling` has 1 .. kMaxBytes bytes.
  void Add(std::string_view spelling, std::uint16_t id);
  bool empty() const { return next_.empty(); }
  Match First(std::string_view text) const;

 private:
  // A tree over the spellings' bytes, whose root is node 0: what follows a node, by node and byte, and the tokens that end at nodes.
  std::unordered_map<std::uint32_t, std::uint32_t> next_;
  std::unordered_map<std::uint32_t, std::uint16_t> ends_;
  std::uint32_t nodes_ = 1;
};

}  // namespace assay
