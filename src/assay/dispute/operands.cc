#include "assay/dispute/operands.h"

#include <algorithm>
#include <cstring>

#include "assay/base/check.h"

namespace assay::dispute {
namespace {

constexpr std::size_t kWord = sizeof(ref::Value);

std::uint64_t WordOf(const ops::Piece& piece, std::size_t k) {
  const auto i = static_cast<std::int64_t>(k);
  return static_cast<std::uint64_t>(piece.from.begin + i / piece.from.length * piece.from.stride + i % piece.from.length);
}

}  // namespace

Operands::Operands(ops::Narrowed narrowed) : narrowed_(std::move(narrowed)) {
  std::size_t end = 0;
  for (const ops::Piece& piece : narrowed_.pieces) {
    end += static_cast<std::size_t>(piece.from.length * piece.from.repeat);
    ends_.push_back(end);
  }
}

std::optional<Operands> Operands::Of(const OpInstance& op, int output, std::int64_t element) {
  auto narrowed = ops::Narrow(op, output, element);
  if (!narrowed) return std::nullopt;
  for (const TensorType& type : narrowed->op.in) ASSAY_CHECK(SizeOf(type.dtype) == kWord);
  return Operands(std::move(*narrowed));
}

std::size_t Operands::WordsIn(std::size_t chunk) const { return std::min(kChunk, words() - chunk * kChunk); }

template <class Visit>
void Operands::ForEach(std::size_t chunk, const Visit& visit) const {
  const std::size_t begin = chunk * kChunk, end = begin + WordsIn(chunk);
  auto piece = static_cast<std::size_t>(std::ranges::upper_bound(ends_, begin) - ends_.begin());
  for (std::size_t i = begin; i < end; ++i) {
    while (ends_[piece] == i) ++piece;
    const std::size_t first = piece == 0 ? 0 : ends_[piece - 1];
    visit(i - begin, narrowed_.pieces[piece], i - first);
  }
}

Operands::Place Operands::At(std::size_t chunk, std::size_t word) const {
  Place place;
  ForEach(chunk, [&](std::size_t i, const ops::Piece& piece, std::size_t k) {
    if (i == word) place = {static_cast<std::uint32_t>(piece.from.input), WordOf(piece, k)};
  });
  return place;
}

std::vector<ref::Value> Operands::Gather(std::size_t chunk, std::span<const void* const> in) const {
  std::vector<ref::Value> words(WordsIn(chunk));
  ForEach(chunk, [&](std::size_t i, const ops::Piece& piece, std::size_t k) {
    const auto* from = static_cast<const std::uint8_t*>(in[static_cast<std::size_t>(piece.from.input)]);
    std::memcpy(&words[i], from + WordOf(piece, k) * kWord, kWord);
  });
  return words;
}

void Operands::Scatter(std::size_t chunk, std::span<const ref::Value> words, std::span<ref::Value* const> out) const {
  ForEach(chunk, [&](std::size_t i, const ops::Piece& piece, std::size_t k) {
    out[static_cast<std::size_t>(piece.input)][static_cast<std::size_t>(piece.to) + k] = words[i];
  });
}

std::vector<ref::Value> Operands::DigestOf(std::span<const ref::Value> words) {
  const Digest digest = HashBytes({reinterpret_cast<const std::uint8_t*>(words.data()), words.size() * kWord});
  std::vector<ref::Value> parts(kDigestWords);
  std::memcpy(parts.data(), digest.bytes.data(), digest.bytes.size());
  return parts;
}

Result<std::vector<ref::Value>> Operands::Answer(const ref::Path& path, std::span<const void* const> in) const {
  if (path.size() == 1 && path[0] < chunks()) return Gather(path[0], in);
  if (!path.empty()) return Err("operands: there is no such chunk");
  std::vector<ref::Value> digests;
  for (std::size_t chunk = 0; chunk < chunks(); ++chunk) {
    const std::vector<ref::Value> digest = DigestOf(Gather(chunk, in));
    digests.insert(digests.end(), digest.begin(), digest.end());
  }
  return digests;
}

}  // namespace assay::dispute
