#include "assay/data/pack_text.h"

#include <algorithm>
#include <cstring>

#include "assay/base/file.h"
#include "assay/data/json_lines.h"

namespace assay {
namespace {

std::string_view AsText(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void AppendTokens(ByteSpan bytes, std::vector<std::uint16_t>& out) {
  const std::size_t before = out.size();
  out.resize(before + bytes.size() / 2);
  std::memcpy(out.data() + before, bytes.data(), bytes.size());
}

}  // namespace

PackWorker::PackWorker(const PackInputs& inputs, const PackRule& rule) : inputs_(inputs), rule_(rule) {
  if (rule.vocabulary != nullptr) encoder_.emplace(rule.vocabulary->tables());
}

Result<PackedPieces> PackWorker::Run(std::span<const PackPiece> pieces) {
  PackedPieces out;
  for (const PackPiece& piece : pieces) ASSAY_TRY(AddPiece(piece, out));
  for (const std::uint16_t token : out.tokens) out.largest = std::max(out.largest, std::int32_t{token});
  return out;
}

Status PackWorker::AddPiece(const PackPiece& piece, PackedPieces& out) {
  const PackInput& input = inputs_.files[piece.file];
  ASSAY_ASSIGN(const Bytes bytes, ReadFilePart(input.path, piece.begin, piece.end - piece.begin));
  const bool last = piece.end == input.facts.bytes;
  if (last) {
    ASSAY_ASSIGN(const FileFacts facts, FactsOf(input.path, true));
    if (facts != input.facts) return Err("{}: has changed while it was packed; start again", input.path);
  }
  switch (input.form) {
    case InputForm::kJsonLines: return AddLines(input, piece, AsText(bytes), out);
    case InputForm::kTokens: AppendTokens(bytes, out.tokens); break;
    case InputForm::kText: AddText(AsText(bytes), out); break;
  }
  if (last) EndDocument(input.facts.bytes == 0, out);
  return {};
}

Status PackWorker::AddLines(const PackInput& input, const PackPiece& piece, std::string_view lines, PackedPieces& out) {
  for (std::uint64_t at = piece.begin; !lines.empty();) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const std::string_view line = lines.substr(0, end);
    if (!IsBlank(line)) {
      if (const Status read = ReadJsonField(line, rule_.field, document_); !read) {
        return Err("{}: the line at byte {}: {}", input.path, at, read.error().message);
      }
      AddText(document_, out);
      EndDocument(document_.empty(), out);
    }
    lines.remove_prefix(end);
    at += end;
  }
  return {};
}

void PackWorker::AddText(std::string_view text, PackedPieces& out) {
  if (encoder_) return encoder_->AppendAll(text, out.tokens);
  const auto bytes = AsBytes(text);
  out.tokens.insert(out.tokens.end(), bytes.begin(), bytes.end());
}

void PackWorker::EndDocument(bool is_empty, PackedPieces& out) const {
  if (is_empty) {
    ++out.empty;
    return;
  }
  if (rule_.end_of_text) out.tokens.push_back(*rule_.end_of_text);
  out.ends.push_back(out.tokens.size());
}

}  // namespace assay
