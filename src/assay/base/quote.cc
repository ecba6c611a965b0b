#include "assay/base/quote.h"

#include <fmt/format.h>

namespace assay {

std::string OneLine(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c >= ' ' && c <= '~') {
      out.push_back(c);
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string Quote(std::string_view text) {
  constexpr std::size_t kMost = 80;
  return fmt::format("'{}{}'", OneLine(text.substr(0, kMost)), text.size() > kMost ? "..." : "");
}

}  // namespace assay
