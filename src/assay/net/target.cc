#include "assay/net/target.h"

#include <algorithm>

#include "assay/base/quote.h"
#include "assay/net/url.h"

namespace assay {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsUnreserved(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' ||
         c == '~';
}

// How many bytes the character has that begins here; 0 where none does. Overlong forms and surrogates are none.
std::size_t Utf8Length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool fits = (first != 0xE0 || at(1) >= 0xA0) && (first != 0xED || at(1) <= 0x9F);
    return fits && follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool fits = (first != 0xF0 || at(1) >= 0x90) && (first != 0xF4 || at(1) <= 0x8F);
    return fits && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

Result<std::string> Decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return Err("expected two hexadecimal digits after '%', in {}", Quote(text));
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  for (std::size_t i = 0; i < decoded.size();) {
    const std::size_t length = Utf8Length(std::string_view(decoded).substr(i));
    const auto byte = static_cast<unsigned char>(decoded[i]);
    if (length == 0 || byte < ' ' || byte == 0x7F) return Err("expected UTF-8 without control characters, got {}", Quote(text));
    i += length;
  }
  return decoded;
}

Result<std::vector<std::string>> ParsePath(std::string_view text) {
  std::vector<std::string> path;
  text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    ASSAY_ASSIGN(std::string segment, Decode(text.substr(0, slash)));
    if (segment.empty() || segment == "." || segment == ".." || segment.find('/') != std::string::npos) {
      return Err("expected a path without empty segments, \".\", \"..\" and escaped '/', got {}", Quote(text.substr(0, slash)));
    }
    path.push_back(std::move(segment));
    const bool is_last_slash = slash + 1 == text.size();
    text.remove_prefix(std::min(slash + 1, text.size()));
    if (is_last_slash) path.emplace_back();
  }
  return path;
}

}  // namespace

std::optional<std::string_view> Target::Query(std::string_view name) const {
  const auto found = std::ranges::find(query, name, [](const auto& entry) -> std::string_view { return entry.first; });
  if (found == query.end()) return std::nullopt;
  return found->second;
}

Result<Target> ParseTarget(std::string_view text, QueryRule rule) {
  if (!IsTarget(text)) return Err("expected a path of visible ASCII that begins with '/', got {}", Quote(text));
  const std::size_t mark = std::min(text.find('?'), text.size());
  Target target;
  ASSAY_ASSIGN(target.path, ParsePath(text.substr(0, mark)));
  std::string_view rest = mark < text.size() ? text.substr(mark + 1) : std::string_view();
  const bool form = rule == QueryRule::kForm;
  std::string spaced;  // what `rest` is part of, of a form
  if (form) {
    for (const char c : rest) spaced += c == '+' ? std::string_view("%20") : std::string_view(&c, 1);
    rest = spaced;
  }
  if (rest.find('+') != std::string_view::npos) return Err("expected %20 or %2B instead of '+' in {}", Quote(rest));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) return Err("expected NAME=VALUE in a query, got {}", Quote(part));
    ASSAY_ASSIGN(std::string name, Decode(part.substr(0, equals)));
    ASSAY_ASSIGN(std::string value, Decode(part.substr(equals + 1)));
    if (!form && target.Query(name)) return Err("{} stands twice in a query", Quote(name));
    target.query.emplace_back(std::move(name), std::move(value));
    if (end + 1 == rest.size()) return Err("expected NAME=VALUE after '&'");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return target;
}

std::string PercentEncode(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

}  // namespace assay
