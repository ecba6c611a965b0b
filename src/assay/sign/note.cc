#include "assay/sign/note.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "assay/base/base64.h"
#include "assay/base/check.h"
#include "assay/base/quote.h"

namespace assay {
namespace {

constexpr std::string_view kDash = "\xe2\x80\x94 ";  // em dash, space

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// The next line without its end; empty when there is none left. An unfinished last line is no line.
std::optional<std::string_view> NextLine(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return line;
}

// Decimal without leading zeros, at most 2^63 - 1.
std::optional<std::uint64_t> ParseSize(std::string_view text) {
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.starts_with('0')) return std::nullopt;
  if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return size;
}

// The three lines and the empty one; what follows stays in `rest`.
Result<Checkpoint> ParseText(std::string_view& rest, std::string_view what) {
  Checkpoint checkpoint;
  const auto origin = NextLine(rest);
  if (!origin || !IsWord(*origin)) return Err("{}: expected the origin in the first line", what);
  checkpoint.origin = *origin;
  const auto size = NextLine(rest);
  const auto number = size ? ParseSize(*size) : std::nullopt;
  if (!number) return Err("{}: expected the number of entries in the second line", what);
  checkpoint.size = *number;
  const auto root = NextLine(rest);
  const auto bytes = root ? FromBase64(*root) : Err("no line");
  if (!bytes || bytes->size() != checkpoint.root.bytes.size())
    return Err("{}: expected a root in base64 in the third line", what);
  std::copy(bytes->begin(), bytes->end(), checkpoint.root.bytes.begin());
  const auto separator = NextLine(rest);
  if (!separator || !separator->empty()) return Err("{}: expected an empty line after the root", what);
  if (checkpoint.size == 0 && checkpoint.root != HashBytes({})) return Err("{}: has no entries, but a root of some", what);
  return checkpoint;
}

struct SignatureLine {
  std::string_view name;
  std::uint32_t hash = 0;
  Bytes signature;
};

std::optional<SignatureLine> ParseSignature(std::string_view line) {
  if (!line.starts_with(kDash)) return std::nullopt;
  line.remove_prefix(kDash.size());
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  SignatureLine out;
  out.name = line.substr(0, space);
  const auto bytes = FromBase64(line.substr(space + 1));
  if (!IsWord(out.name) || out.name.find('+') != std::string_view::npos || !bytes || bytes->size() < 5) return std::nullopt;
  for (std::size_t i = 0; i < 4; ++i) out.hash = out.hash << 8 | (*bytes)[i];
  out.signature.assign(bytes->begin() + 4, bytes->end());
  return out;
}

bool IsGood(const SignatureLine& line, std::string_view text, const VerifyKey& key) {
  Signature signature{};
  if (line.signature.size() != signature.size()) return false;
  std::copy(line.signature.begin(), line.signature.end(), signature.begin());
  return key.Verify(AsBytes(text), signature);
}

struct Note {
  Checkpoint checkpoint;
  std::string_view text;  // what is signed
  std::vector<SignatureLine> signatures;
};

Result<Note> ParseNote(std::string_view note, std::string_view what) {
  if (note.size() > kMaxNoteBytes) return Err("{}: has {} bytes, expected at most {}", what, note.size(), kMaxNoteBytes);
  std::string_view rest = note;
  Note parsed;
  ASSAY_ASSIGN(parsed.checkpoint, ParseText(rest, what));
  parsed.text = note.substr(0, note.size() - rest.size() - 1);
  do {
    const auto line = NextLine(rest);
    auto signature = line ? ParseSignature(*line) : std::nullopt;
    if (!signature) return Err("{}: expected lines of signatures after the empty line, and a line end after each", what);
    parsed.signatures.push_back(std::move(*signature));
  } while (!rest.empty());
  return parsed;
}

}  // namespace

std::string CheckpointText(const Checkpoint& checkpoint) {
  ASSAY_CHECK(IsWord(checkpoint.origin));
  return fmt::format("{}\n{}\n{}\n", checkpoint.origin, checkpoint.size, Base64(checkpoint.root.bytes));
}

std::string SignCheckpoint(const Checkpoint& checkpoint, const SigningKey& key) {
  const std::string text = CheckpointText(checkpoint);
  const Signature signature = key.Sign(AsBytes(text));
  const std::uint32_t hash = key.verify_key().hash();
  std::array<std::uint8_t, 4 + std::tuple_size_v<Signature>> bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(hash >> (24 - 8 * i));
  std::copy(signature.begin(), signature.end(), bytes.begin() + 4);
  return fmt::format("{}\n{}{} {}\n", text, kDash, key.verify_key().name(), Base64(bytes));
}

Result<Checkpoint> OpenCheckpoint(std::string_view note, const VerifyKey& key, std::string_view what) {
  ASSAY_ASSIGN(const Note parsed, ParseNote(note, what));
  bool found = false;
  for (const SignatureLine& signature : parsed.signatures) {
    if (signature.name != key.name() || signature.hash != key.hash()) continue;
    if (found) return Err("{}: is signed twice by {}", what, key.id());
    if (!IsGood(signature, parsed.text, key)) {
      return Err("{}: the signature of {} does not fit the text: the copy is damaged or was not made by that key", what,
                 key.id());
    }
    found = true;
  }
  if (!found) return Err("{}: is not signed by {}", what, key.id());
  return parsed.checkpoint;
}

}  // namespace assay
