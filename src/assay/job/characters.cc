#include "assay/job/characters.h"

#include "assay/data/unicode.h"

namespace assay::job {
namespace {

enum class Place { kOutside, kComment, kBasic, kLiteral, kLongBasic, kLongLiteral };

// Follows the text just closely enough to know when a string or a comment begins and ends; a text that is not TOML may be taken
// wrongly only after the point where the parser stops at it.
class Tracker {
 public:
  explicit Tracker(std::string_view text) : text_(text) {}

  Place place() const { return place_; }

  // Takes the ASCII character at `at` and says how many bytes it used.
  std::size_t Take(std::size_t at) {
    const std::string_view rest = text_.substr(at);
    switch (place_) {
      case Place::kOutside: return Open(rest);
      case Place::kComment: return EndLine(rest[0]);
      case Place::kBasic:
        if (rest[0] == '\\' && rest.size() > 1 && static_cast<unsigned char>(rest[1]) < 0x80 && rest[1] != '\n') return 2;
        if (rest[0] == '"') place_ = Place::kOutside;
        return EndLine(rest[0]);
      case Place::kLiteral:
        if (rest[0] == '\'') place_ = Place::kOutside;
        return EndLine(rest[0]);
      case Place::kLongBasic:
        if (rest[0] == '\\' && rest.size() > 1) return 2;
        return Close(rest, "\"\"\"");
      case Place::kLongLiteral: return Close(rest, "'''");
    }
    return 1;
  }

 private:
  std::size_t Open(std::string_view rest) {
    if (rest.starts_with("\"\"\"")) return Enter(Place::kLongBasic, 3);
    if (rest.starts_with("'''")) return Enter(Place::kLongLiteral, 3);
    if (rest[0] == '"') return Enter(Place::kBasic, 1);
    if (rest[0] == '\'') return Enter(Place::kLiteral, 1);
    if (rest[0] == '#') return Enter(Place::kComment, 1);
    return 1;
  }
  std::size_t Enter(Place place, std::size_t length) {
    place_ = place;
    return length;
  }
  std::size_t Close(std::string_view rest, std::string_view quotes) {
    return rest.starts_with(quotes) ? Enter(Place::kOutside, 3) : 1;
  }
  std::size_t EndLine(char c) {
    if (c == '\n') place_ = Place::kOutside;
    return 1;
  }

  std::string_view text_;
  Place place_ = Place::kOutside;
};

}  // namespace

Status CheckCharacters(std::string_view text, std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Tracker tracker(text);
  std::int64_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = DecodeUtf8(text.substr(at));
    if (c.value < 0x80) {
      const std::size_t taken = tracker.Take(at);
      for (std::size_t i = 0; i < taken; ++i) line += text[at + i] == '\n' ? 1 : 0;
      at += taken;
      continue;
    }
    if (c.value == 0xfffd && c.length == 1) return Err("{}:{}: not valid UTF-8", name, line);
    const Place place = tracker.place();
    if (place != Place::kComment && place != Place::kBasic && place != Place::kLiteral) {
      return Err("{}:{}: U+{:04X} can stand in comments and one-line strings only", name, line, c.value);
    }
    at += c.length;
  }
  return {};
}

}  // namespace assay::job
