#include "assay/data/pack_inputs.h"

#include <algorithm>
#include <filesystem>

#include "assay/base/file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestWord = 4 << 20;   // without a place to cut a text
constexpr std::uint64_t kLongestLine = 16 << 20;  // of JSON
constexpr std::uint64_t kWindow = 16 << 10;       // looked at for a place to cut at a time
constexpr std::uint64_t kBefore = 4;              // bytes that tell which character comes before a place
constexpr std::size_t kFilesAtOnce = 256;

std::string_view AsText(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

InputForm FormOf(const std::string& path, bool tokens) {
  if (tokens) return InputForm::kTokens;
  return path.ends_with(".jsonl") || path.ends_with(".ndjson") ? InputForm::kJsonLines : InputForm::kText;
}

Status AddFile(const std::string& path, const FileFacts& facts, bool tokens, PackInputs& out) {
  const InputForm form = FormOf(path, tokens);
  if (form == InputForm::kTokens && facts.bytes % 2 != 0) {
    return Err("{}: 2-byte token ids expected, file has {} bytes", path, facts.bytes);
  }
  out.files.push_back({path, form, facts});
  out.bytes += facts.bytes;
  return {};
}

std::string Resolved(const std::string& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored).string();
}

Status AddFolder(const std::string& folder, bool tokens, const std::string& but_not, PackInputs& out) {
  ASSAY_ASSIGN(const std::vector<std::string> names, ListTree(folder));
  const std::string resolved = Resolved(folder);
  for (const std::string& name : names) {
    if (JoinPath(resolved, name).starts_with(but_not + "/")) continue;
    const std::string path = JoinPath(folder, name);
    ASSAY_ASSIGN(const FileFacts facts, FactsOf(path, false));
    if (facts.kind == FileFacts::Kind::kPlain) {
      ASSAY_TRY(AddFile(path, facts, tokens, out));
    } else {
      ++out.skipped;
    }
  }
  return {};
}

}  // namespace

Result<PackInputs> FindInputs(const std::vector<std::string>& inputs, bool tokens, const std::string& but_not) {
  PackInputs out;
  const std::string own = Resolved(but_not);
  for (const std::string& input : inputs) {
    ASSAY_ASSIGN(const FileFacts facts, FactsOf(input, true));
    switch (facts.kind) {
      case FileFacts::Kind::kPlain: ASSAY_TRY(AddFile(input, facts, tokens, out)); break;
      case FileFacts::Kind::kDirectory: ASSAY_TRY(AddFolder(input, tokens, own, out)); break;
      default: return Err("{}: expected a file or a folder", input);
    }
  }
  if (out.bytes == 0) return Err("{}: there is nothing to pack, {} files with 0 bytes", inputs.front(), out.files.size());
  return out;
}

Result<std::vector<PackPiece>> PackPlanner::Next() {
  std::vector<PackPiece> pieces;
  std::uint64_t bytes = 0;
  while (place_.file < inputs_.files.size() && bytes < piece_bytes_ && pieces.size() < kFilesAtOnce) {
    const PackInput& input = inputs_.files[static_cast<std::size_t>(place_.file)];
    // A large file begins a list of its own, so that lists stay about as long as they should be.
    if (!pieces.empty() && input.facts.bytes - place_.offset > piece_bytes_) break;
    ASSAY_ASSIGN(const std::uint64_t end, EndOf(input, place_.offset));
    pieces.push_back({static_cast<std::size_t>(place_.file), place_.offset, end});
    bytes += end - place_.offset;
    place_ = end < input.facts.bytes ? PackPlace{place_.file, end} : PackPlace{place_.file + 1, 0};
  }
  return pieces;
}

// Where a piece of the file ends that begins at `begin`.
Result<std::uint64_t> PackPlanner::EndOf(const PackInput& input, std::uint64_t begin) const {
  const std::uint64_t size = input.facts.bytes;
  if (size - begin <= piece_bytes_) return size;
  const std::uint64_t wanted = begin + piece_bytes_;
  if (input.form == InputForm::kTokens) return wanted - (wanted - begin) % 2;
  const bool lines = input.form == InputForm::kJsonLines;
  if (!lines && words_ == nullptr) return wanted;
  const auto can_end = [&](std::string_view text, std::size_t at) {
    return lines ? text[at - 1] == '\n' : words_->CutsBefore(text, at);
  };
  // The last place before the end that is wanted, or the first one behind it.
  const std::uint64_t first = wanted - std::min(wanted - begin - 1, kWindow);
  ASSAY_ASSIGN(const Bytes before, ReadFilePart(input.path, first, wanted - first));
  for (std::size_t at = before.size(); at-- > kBefore;) {
    if (can_end(AsText(before), at)) return first + at;
  }
  const std::uint64_t longest = lines ? kLongestLine : kLongestWord;
  for (std::uint64_t from = wanted; from < size && from - begin <= longest; from += kWindow) {
    const std::uint64_t window = std::max(from - std::min(from - begin, kBefore), begin);
    ASSAY_ASSIGN(const Bytes behind, ReadFilePart(input.path, window, std::min(from + kWindow, size) - window));
    for (std::size_t at = static_cast<std::size_t>(from - window); at < behind.size(); ++at) {
      if (at > 0 && can_end(AsText(behind), at)) return window + at;
    }
    if (from + kWindow >= size) return size;
  }
  return Err("{}: {} from byte {} on, at most {} bytes are read at once", input.path,
             lines ? "has no end of a line" : "has no white space at which it could be cut", begin, longest);
}

}  // namespace assay
