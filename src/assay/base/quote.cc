#include "assay/base/quote.h"

#include <algorithm>

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

std::string ShellQuoted(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=+,@%[]~").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace assay
