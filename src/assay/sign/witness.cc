#include "assay/sign/witness.h"

#include <algorithm>

#include "assay/base/base64.h"
#include "assay/base/quote.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/note.h"

namespace assay {
namespace {

constexpr std::uint8_t kCosignatureType = 4;
constexpr std::string_view kDash = "\xe2\x80\x94 ";  // em dash, space

std::uint32_t HashOf(std::string_view name, std::uint8_t type, ByteSpan point) {
  Sha256 hash;
  hash.Update(AsBytes(name));
  const std::uint8_t separator[] = {'\n', type};
  hash.Update(separator);
  hash.Update(point);
  const Digest digest = hash.Finish();
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | digest.bytes[i];
  return number;
}

std::uint64_t BigEndian(ByteSpan bytes) {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

// The time in the bytes of a signature line (hash, time, signature), where they are a good cosignature of the text.
std::optional<std::uint64_t> CosignedAt(ByteSpan bytes, std::string_view text, const VerifyKey& key) {
  Signature signature{};
  if (bytes.size() != 4 + 8 + signature.size()) return std::nullopt;
  if (BigEndian(bytes.first(4)) != HashOf(key.name(), kCosignatureType, key.point())) return std::nullopt;
  std::ranges::copy(bytes.subspan(12), signature.begin());
  const std::uint64_t time = BigEndian(bytes.subspan(4, 8));
  const std::string message = fmt::format("cosignature/v1\ntime {}\n{}", time, text);
  return key.Verify(AsBytes(message), signature) ? std::optional(time) : std::nullopt;
}

}  // namespace

Result<WitnessKey> WitnessKey::Parse(std::string_view vkey) {
  if (auto plain = VerifyKey::Parse(vkey)) return WitnessKey(*std::move(plain), false);
  const auto fail = [&] { return Err("expected a witness's public key NAME+HASH+DATA, of type 1 or 4, got {}", Quote(vkey)); };
  const std::size_t first = vkey.find('+');
  const std::size_t second = first == std::string_view::npos ? first : vkey.find('+', first + 1);
  if (second == std::string_view::npos || !IsKeyName(vkey.substr(0, first))) return fail();
  const auto data = FromBase64(vkey.substr(second + 1));
  std::array<std::uint8_t, 32> point{};
  if (!data || data->size() != 1 + point.size() || data->front() != kCosignatureType) return fail();
  std::copy(data->begin() + 1, data->end(), point.begin());
  if (!ed25519::IsUsable(point)) return fail();
  const std::string name(vkey.substr(0, first));
  if (fmt::format("{:08x}", HashOf(name, kCosignatureType, point)) != vkey.substr(first + 1, second - first - 1)) return fail();
  return WitnessKey(VerifyKey(name, point), true);
}

std::string WitnessKey::id() const {
  return timed_ ? fmt::format("{}+{:08x}", key_.name(), HashOf(key_.name(), kCosignatureType, key_.point())) : key_.id();
}

Status WitnessKey::Verify(std::string_view note, std::string_view what) const {
  const auto missing = [&] { return Err("{}: no good signature of the witness {} stands under its checkpoint", what, id()); };
  if (!timed_) {
    if (!OpenCheckpoint(note, key_, what)) return missing();
    return {};
  }
  if (!SeenAt(note)) return missing();
  return {};
}

std::optional<std::uint64_t> WitnessKey::SeenAt(std::string_view note) const {
  const std::size_t end = note.find("\n\n");
  if (!timed_ || end == std::string_view::npos) return std::nullopt;
  const std::string_view text = note.substr(0, end + 1);
  std::optional<std::uint64_t> earliest;
  for (std::string_view rest = note.substr(end + 2); !rest.empty();) {
    const std::size_t stop = rest.find('\n');
    std::string_view line = rest.substr(0, stop);
    rest.remove_prefix(stop == std::string_view::npos ? rest.size() : stop + 1);
    if (!line.starts_with(kDash)) continue;
    line.remove_prefix(kDash.size());
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.substr(0, space) != key_.name()) continue;
    const auto bytes = FromBase64(line.substr(space + 1));
    const auto time = bytes ? CosignedAt(*bytes, text, key_) : std::nullopt;
    if (time && (!earliest || *time < *earliest)) earliest = time;
  }
  return earliest;
}

}  // namespace assay
