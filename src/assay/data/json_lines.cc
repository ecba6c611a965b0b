#include "assay/data/json_lines.h"

#include <cstdint>

#include "assay/base/quote.h"

namespace assay {
namespace {

constexpr int kMaxDepth = 64;

void AppendUtf8(std::uint32_t c, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(static_cast<std::uint8_t>(byte))); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xe0 | c >> 12);
    } else {
      put(0xf0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3f));
    }
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

class LineReader {
 public:
  explicit LineReader(std::string_view line) : line_(line) {}

  Status Read(std::string_view field, std::string& text) {
    SkipSpace();
    if (!Take('{')) return Expected("an object");
    bool found = false;
    std::string key;
    for (bool first = true;; first = false) {
      SkipSpace();
      if (Take('}')) break;
      if (!first && !Take(',')) return Expected("a comma or the end of the object");
      SkipSpace();
      ASSAY_TRY(String(&key));
      SkipSpace();
      if (!Take(':')) return Expected("a colon");
      SkipSpace();
      if (key != field) {
        ASSAY_TRY(Value(1));
        continue;
      }
      if (found) return Err("has the field {} twice", Quote(field));
      found = true;
      if (Peek() != '"') return Err("field {}: expected a text", Quote(field));
      ASSAY_TRY(String(&text));
    }
    SkipSpace();
    if (at_ != line_.size()) return Expected("the end of the line");
    if (!found) return Err("has no field {}", Quote(field));
    return {};
  }

 private:
  tl::unexpected<Error> Expected(std::string_view what) const { return Err("expected {} at byte {} of the line", what, at_); }
  int Peek() const { return at_ < line_.size() ? static_cast<std::uint8_t>(line_[at_]) : -1; }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void SkipSpace() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r' || line_[at_] == '\n')) ++at_;
  }

  Status Value(int depth) {
    if (depth > kMaxDepth) return Expected(fmt::format("at most {} levels", kMaxDepth));
    switch (Peek()) {
      case '"': return String(nullptr);
      case '{': return List('}', depth, true);
      case '[': return List(']', depth, false);
      case 't': return Word("true");
      case 'f': return Word("false");
      case 'n': return Word("null");
      default: return Number();
    }
  }

  // An object or an array, from its opening bracket on.
  Status List(char end, int depth, bool object) {
    ++at_;
    for (bool first = true;; first = false) {
      SkipSpace();
      if (first && Take(end)) return {};
      if (object) {
        ASSAY_TRY(String(nullptr));
        SkipSpace();
        if (!Take(':')) return Expected("a colon");
        SkipSpace();
      }
      ASSAY_TRY(Value(depth + 1));
      SkipSpace();
      if (Take(end)) return {};
      if (!Take(',')) return Expected("a comma or the end of a list");
    }
  }

  Status Word(std::string_view word) {
    if (!line_.substr(at_).starts_with(word)) return Expected("a value");
    at_ += word.size();
    return {};
  }

  std::size_t Digits() {
    const std::size_t begin = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ - begin;
  }

  Status Number() {
    Take('-');
    const bool zero = Peek() == '0';
    const std::size_t digits = Digits();
    if (digits == 0 || (zero && digits > 1)) return Expected("a value");
    if (Take('.') && Digits() == 0) return Expected("a digit");
    if (Take('e') || Take('E')) {
      if (!Take('+')) Take('-');
      if (Digits() == 0) return Expected("a digit");
    }
    return {};
  }

  Result<std::uint32_t> HexDigits() {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const int c = Peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Expected("four hex digits");
      value = value << 4 | static_cast<std::uint32_t>(digit);
      ++at_;
    }
    return value;
  }

  // What follows `\u`.
  Status Unicode(std::string* out) {
    ASSAY_ASSIGN(std::uint32_t c, HexDigits());
    if (c >= 0xd800 && c < 0xdc00 && line_.substr(at_).starts_with("\\u")) {
      const std::size_t before = at_;
      at_ += 2;
      ASSAY_ASSIGN(const std::uint32_t low, HexDigits());
      if (low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
      } else {
        at_ = before;  // a character of its own
      }
    }
    if (c >= 0xd800 && c < 0xe000) c = 0xfffd;
    if (out != nullptr) AppendUtf8(c, *out);
    return {};
  }

  Status Escape(std::string* out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const int c = Peek();
    if (c == 'u') {
      ++at_;
      return Unicode(out);
    }
    const std::size_t which = c < 0 ? std::string_view::npos : kLetters.find(static_cast<char>(c));
    if (which == std::string_view::npos) return Expected("an escape of JSON");
    ++at_;
    if (out != nullptr) out->push_back(kMeanings[which]);
    return {};
  }

  // `out` may be null.
  Status String(std::string* out) {
    if (!Take('"')) return Expected("a text");
    if (out != nullptr) out->clear();
    while (true) {
      const std::size_t begin = at_;
      while (at_ < line_.size() && line_[at_] != '"' && line_[at_] != '\\' && static_cast<std::uint8_t>(line_[at_]) >= 0x20)
        ++at_;
      if (out != nullptr) out->append(line_.substr(begin, at_ - begin));
      if (Take('"')) return {};
      if (!Take('\\')) return Expected("the end of a text");
      ASSAY_TRY(Escape(out));
    }
  }

  std::string_view line_;
  std::size_t at_ = 0;
};

}  // namespace

Status ReadJsonField(std::string_view line, std::string_view field, std::string& text) {
  return LineReader(line).Read(field, text);
}

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t\r\n") == std::string_view::npos; }

}  // namespace assay
