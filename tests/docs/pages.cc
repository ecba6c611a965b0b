#include "docs/pages.h"

#include <fmt/format.h>

namespace assay::docs {
namespace {

// Where `line` stands in the page; an error unless it does so once.
Result<std::size_t> PlaceOf(std::string_view page, std::string_view line) {
  const std::size_t at = page.find(line);
  if (at == std::string_view::npos) return Err("expected a line {}", line);
  if (page.find(line, at + 1) != std::string_view::npos) return Err("expected one line {}, got several", line);
  return at;
}

bool IsPartOfName(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !IsPartOfName(text[at - 1])) && (end == text.size() || !IsPartOfName(text[end]))) return true;
  }
  return false;
}

}  // namespace

Result<std::string> WithPart(std::string_view page, std::string_view name, std::string_view text) {
  const std::string first = fmt::format("<!-- generated: {} -->\n", name), last = fmt::format("<!-- end of {} -->\n", name);
  ASSAY_ASSIGN(const std::size_t begin, PlaceOf(page, first));
  ASSAY_ASSIGN(const std::size_t end, PlaceOf(page, last));
  if (end < begin) return Err("{} stands before {}", last, first);
  return fmt::format("{}\n{}\n{}", page.substr(0, begin + first.size()), text, page.substr(end));
}

Status ExpectNamed(std::string_view page, std::string_view from, const std::vector<std::string>& names) {
  ASSAY_ASSIGN(const std::size_t begin, PlaceOf(page, from));
  for (const std::string& name : names) {
    if (!HasWord(page.substr(begin), name)) return Err("expected something about {} behind {}", name, from);
  }
  return {};
}

}  // namespace assay::docs
