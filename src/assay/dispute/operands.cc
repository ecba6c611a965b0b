#include "assay/dispute/operands.h"

#include <algorithm>
#include <cstring>

namespace assay::dispute {
namespace {

constexpr std::size_t kWord = sizeof(ref::Value);

}  // namespace

std::optional<Operands> Operands::Of(const OpInstance& op, std::span<const InputRange> needs) {
  Operands operands;
  for (const InputRange& need : needs) {
    if (need.length <= 0 || need.repeat <= 0) continue;
    const std::size_t size = SizeOf(op.in[static_cast<std::size_t>(need.input)].dtype);
    if (size % kWord != 0) return std::nullopt;
    const auto length = static_cast<std::uint64_t>(need.length) * (size / kWord),
               repeat = static_cast<std::uint64_t>(need.repeat);
    const std::uint64_t room = kMaxWords - operands.places_.size();
    if (length > room || repeat > room / length) return std::nullopt;
    for (std::uint64_t r = 0; r < repeat; ++r) {
      const auto begin = static_cast<std::uint64_t>(need.begin + static_cast<std::int64_t>(r) * need.stride) * (size / kWord);
      for (std::uint64_t i = 0; i < length; ++i)
        operands.places_.push_back({static_cast<std::uint32_t>(need.input), begin + i});
    }
  }
  return operands;
}

std::size_t Operands::WordsIn(std::size_t chunk) const { return std::min(kChunk, places_.size() - chunk * kChunk); }

std::vector<ref::Value> Operands::Gather(std::size_t chunk, std::span<const void* const> in) const {
  std::vector<ref::Value> words(WordsIn(chunk));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Place& place = At(chunk, i);
    std::memcpy(&words[i], static_cast<const std::uint8_t*>(in[place.input]) + place.word * kWord, kWord);
  }
  return words;
}

void Operands::Scatter(std::size_t chunk, std::span<const ref::Value> words, std::span<void* const> out) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Place& place = At(chunk, i);
    std::memcpy(static_cast<std::uint8_t*>(out[place.input]) + place.word * kWord, &words[i], kWord);
  }
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
