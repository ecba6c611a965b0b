#include "assay/seal/header.h"

#include <algorithm>

#include "assay/base/base64.h"
#include "assay/base/quote.h"

namespace assay::seal {
namespace {

constexpr std::string_view kFormat = "age-encryption.org/";
constexpr std::string_view kVersionLine = "age-encryption.org/v1\n";
constexpr std::string_view kStanzaMark = "-> ";
constexpr std::string_view kEndMark = "---";
constexpr std::size_t kColumns = 64;
constexpr std::size_t kMacDigits = 43;

bool IsVisible(char c) { return c > ' ' && c <= '~'; }

// Lines of a header, with their numbers for errors.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  int number() const { return number_; }
  std::string_view Peek() const { return rest_.substr(0, rest_.find('\n')); }
  std::string_view Next() {
    const std::string_view line = Peek();
    rest_.remove_prefix(std::min(line.size() + 1, rest_.size()));
    ++number_;
    return line;
  }

 private:
  std::string_view rest_;
  int number_ = 0;  // of the line that Next gave
};

Result<std::vector<std::string>> ParseArguments(std::string_view line) {
  if (!line.starts_with(kStanzaMark)) return Err("expected a stanza '-> KIND ...' or the end '--- MAC', got {}", Quote(line));
  line.remove_prefix(kStanzaMark.size());
  std::vector<std::string> arguments;
  for (bool more = true; more;) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view argument = line.substr(0, end);
    if (argument.empty() || !std::all_of(argument.begin(), argument.end(), IsVisible)) {
      return Err("expected arguments of visible ASCII with one space between them");
    }
    arguments.emplace_back(argument);
    more = end < line.size();
    line.remove_prefix(more ? end + 1 : end);
  }
  return arguments;
}

// Lines of 64 columns and a shorter one, which may be empty.
Result<Bytes> ParseBody(Lines& lines) {
  std::string text;
  for (bool full = true; full;) {
    if (lines.done()) return Err("expected a stanza's body, whose last line is shorter than {} columns", kColumns);
    const std::string_view line = lines.Next();
    if (line.size() > kColumns) return Err("expected at most {} columns of base64, got {}", kColumns, line.size());
    text += line;
    full = line.size() == kColumns;
  }
  return FromRawBase64(text);
}

Result<Mac> ParseEnd(std::string_view line) {
  Mac mac{};
  const bool form =
      line.size() == kEndMark.size() + 1 + kMacDigits && line.starts_with(kEndMark) && line[kEndMark.size()] == ' ';
  const auto bytes = form ? FromRawBase64(line.substr(kEndMark.size() + 1)) : Result<Bytes>(Bytes());
  if (!bytes || bytes->size() != mac.size()) return Err("expected '--- ' and {} characters of base64", kMacDigits);
  std::copy(bytes->begin(), bytes->end(), mac.begin());
  return mac;
}

}  // namespace

std::string RawBase64(ByteSpan bytes) {
  std::string text = Base64(bytes);
  while (text.ends_with('=')) text.pop_back();
  return text;
}

Result<Bytes> FromRawBase64(std::string_view text) {
  if (text.size() % 4 == 1 || text.ends_with('=')) return Err("expected base64 without padding");
  std::string padded(text);
  padded.resize((text.size() + 3) / 4 * 4, '=');
  return FromBase64(padded);
}

std::string HeaderText(const std::vector<Stanza>& stanzas) {
  std::string text(kVersionLine);
  for (const Stanza& stanza : stanzas) {
    text += "->";
    for (const std::string& argument : stanza.arguments) text.append(1, ' ').append(argument);
    text += '\n';
    const std::string body = RawBase64(stanza.body);
    for (std::size_t at = 0; at <= body.size(); at += kColumns) text.append(body, at, kColumns).append(1, '\n');
  }
  return text += kEndMark;
}

std::string FinishHeader(std::string text, const Mac& mac) {
  return text.append(1, ' ').append(RawBase64(mac)).append(1, '\n');
}

std::string_view MacPart(std::string_view header) { return header.substr(0, header.size() - (1 + kMacDigits + 1)); }

Result<std::string> ReadHeader(BufferedSource& source, std::string_view what) {
  ASSAY_ASSIGN(std::string header, source.Line(kColumns));
  if (header != kVersionLine) {
    const std::string_view line = std::string_view(header).substr(0, header.find('\n'));
    if (header.empty()) return Err("{}: is empty, expected a sealed file (age-encryption.org/v1)", what);
    if (kVersionLine.starts_with(header)) return Err("{}: is truncated: it ends in the first line of its header", what);
    if (!line.starts_with(kFormat)) return Err("{}: is no sealed file (age-encryption.org/v1)", what);
    return Err("{}: is sealed in version {}, expected v1", what, Quote(line.substr(kFormat.size())));
  }
  for (bool last = false; !last;) {
    ASSAY_ASSIGN(const std::string line, source.Line(kMaxHeader + 1 - header.size()));
    header += line;
    if (header.size() > kMaxHeader) return Err("{}: header: is longer than {} bytes", what, kMaxHeader);
    if (!line.ends_with('\n')) return Err("{}: is truncated: it ends in its header", what);
    last = line.starts_with(kEndMark);
  }
  return header;
}

Result<Header> ParseHeader(std::string_view text, std::string_view what) {
  Header header;
  Lines lines(text);
  const auto fail = [&](std::string_view why) { return Err("{}: header: line {}: {}", what, lines.number(), why); };
  if (!text.starts_with(kVersionLine) || !text.ends_with('\n'))
    return Err("{}: header: expected whole lines after {}", what, Quote(kVersionLine));
  lines.Next();
  while (!lines.Peek().starts_with(kEndMark)) {
    Stanza stanza;
    auto arguments = ParseArguments(lines.Next());
    if (!arguments) return fail(arguments.error().message);
    auto body = ParseBody(lines);
    if (!body) return fail(body.error().message);
    header.stanzas.push_back({*std::move(arguments), *std::move(body)});
  }
  const auto mac = ParseEnd(lines.Next());
  if (!mac) return fail(mac.error().message);
  header.mac = *mac;
  if (!lines.done()) return fail("expected nothing after the MAC");
  if (header.stanzas.empty()) return fail("expected a stanza before the MAC");
  return header;
}

}  // namespace assay::seal
