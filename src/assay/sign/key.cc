#include "assay/sign/key.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "assay/base/base64.h"
#include "assay/base/check.h"
#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/merkle/sha256.h"

namespace assay {
namespace {

constexpr std::string_view kPrivatePrefix = "PRIVATE+KEY+";
constexpr std::uint8_t kEd25519Type = 1;
constexpr std::uint64_t kMaxKeyFile = 1024;

void Wipe(std::span<std::uint8_t> secret) {
  if (!secret.empty()) ::explicit_bzero(secret.data(), secret.size());
}

// NAME+HASH+DATA taken apart; DATA decoded and without its type byte.
struct KeyText {
  std::string name;
  std::string hash;
  std::array<std::uint8_t, 32> data{};
};

Result<KeyText> Split(std::string_view text) {
  const std::size_t first = text.find('+');
  const std::size_t second = first == std::string_view::npos ? first : text.find('+', first + 1);
  if (second == std::string_view::npos) return Err("expected two '+'");
  KeyText key;
  key.name = text.substr(0, first);
  key.hash = text.substr(first + 1, second - first - 1);
  if (!IsKeyName(key.name)) return Err("expected a name of 1 to 64 characters from A-Z a-z 0-9 . _ - /");
  ASSAY_ASSIGN(Bytes data, FromBase64(text.substr(second + 1)));
  const bool fits = data.size() == 33 && data[0] == kEd25519Type;
  if (fits) std::copy(data.begin() + 1, data.end(), key.data.begin());
  Wipe(data);
  if (!fits) return Err("expected the base64 of 0x01 and 32 bytes after the last '+'");
  return key;
}

std::string Join(std::string_view id, const std::array<std::uint8_t, 32>& data) {
  std::array<std::uint8_t, 33> typed{kEd25519Type};
  std::copy(data.begin(), data.end(), typed.begin() + 1);
  std::string text = fmt::format("{}+{}", id, Base64(typed));
  Wipe(typed);
  return text;
}

// The text of a key file without its line end.
std::string_view Line(const Bytes& bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool IsKeyName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' ||
           c == '/';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed);
}

VerifyKey::VerifyKey(std::string name, const std::array<std::uint8_t, 32>& point) : name_(std::move(name)), point_(point) {
  ASSAY_CHECK(IsKeyName(name_));
}

Result<VerifyKey> VerifyKey::Parse(std::string_view vkey) {
  const auto fail = [&](std::string_view why) {
    return Err("expected a public key NAME+HASH+DATA, got {}: {}", Quote(vkey), why);
  };
  const auto text = Split(vkey);
  if (!text) return fail(text.error().message);
  if (!ed25519::IsUsable(text->data)) return fail("its 32 bytes are not a public key of Ed25519");
  VerifyKey key(text->name, text->data);
  if (key.ToString() != vkey) return fail(fmt::format("its hash should be {:08x}", key.hash()));
  return key;
}

std::uint32_t VerifyKey::hash() const {
  static constexpr std::uint8_t kSeparatorAndType[] = {'\n', kEd25519Type};
  Sha256 hash;
  hash.Update(AsBytes(name_));
  hash.Update(kSeparatorAndType);
  hash.Update(point_);
  const Digest digest = hash.Finish();
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | digest.bytes[i];
  return number;
}

std::string VerifyKey::id() const { return fmt::format("{}+{:08x}", name_, hash()); }
std::string VerifyKey::ToString() const { return Join(id(), point_); }

bool VerifyKey::Verify(ByteSpan message, const Signature& signature) const {
  return ed25519::Verify(point_, message, signature);
}

SigningKey::SigningKey(std::string name, const ed25519::Seed& seed)
    : public_(std::move(name), ed25519::DerivePublicKey(seed)), seed_(seed) {}

SigningKey::SigningKey(SigningKey&& other) noexcept : public_(std::move(other.public_)), seed_(other.seed_) {
  Wipe(other.seed_);
}

SigningKey& SigningKey::operator=(SigningKey&& other) noexcept {
  if (this == &other) return *this;
  public_ = std::move(other.public_);
  seed_ = other.seed_;
  Wipe(other.seed_);
  return *this;
}

SigningKey::~SigningKey() { Wipe(seed_); }

SigningKey SigningKey::Generate(std::string name) {
  ed25519::Seed seed{};
#ifdef __wasm__
  ASSAY_CHECK(::getentropy(seed.data(), seed.size()) == 0);
#else
  std::size_t filled = 0;
  while (filled < seed.size()) {
    const ssize_t got = ::getrandom(seed.data() + filled, seed.size() - filled, 0);
    ASSAY_CHECK(got > 0 || errno == EINTR);  // a kernel without randomness cannot make keys
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
#endif
  SigningKey key(std::move(name), seed);
  Wipe(seed);
  return key;
}

Result<SigningKey> SigningKey::Parse(std::string_view text) {
  const auto fail = [](std::string_view why) { return Err("expected a private key PRIVATE+KEY+NAME+HASH+DATA: {}", why); };
  if (!text.starts_with(kPrivatePrefix)) return fail("it does not begin with PRIVATE+KEY+");
  auto parts = Split(text.substr(kPrivatePrefix.size()));
  if (!parts) return fail(parts.error().message);
  SigningKey key(parts->name, parts->data);
  Wipe(parts->data);
  if (fmt::format("{:08x}", key.public_.hash()) != parts->hash) return fail("its hash does not fit its name and bytes");
  return key;
}

std::string SigningKey::ToString() const { return fmt::format("{}{}", kPrivatePrefix, Join(public_.id(), seed_)); }

Signature SigningKey::Sign(ByteSpan message) const { return ed25519::Sign(seed_, public_.point(), message); }

Status WriteKeyFiles(const std::string& path, const SigningKey& key) {
  const std::string public_path = path + ".pub";
  if (Exists(path)) return Err("{}: exists already and is not overwritten", path);
  if (Exists(public_path)) return Err("{}: exists already and is not overwritten", public_path);
  std::string secret = key.ToString() + "\n";
  const Status written = WriteFileAtomic(path, AsBytes(secret), {.mode = 0600, .replace = false});
  ::explicit_bzero(secret.data(), secret.size());
  ASSAY_TRY(written);
  const Status published = WriteFileAtomic(public_path, AsBytes(key.verify_key().ToString() + "\n"), {.replace = false});
  if (!published) (void)RemoveFile(path);
  return published;
}

Result<SigningKey> ReadSigningKey(const std::string& path) {
  const auto is_public = [&] {
    return Err("{}: is a public key, expected the private one that belongs to it (its file's name is without .pub)", path);
  };
  auto bytes = ReadPrivateFile(path, kMaxKeyFile);
  if (!bytes) {
    // Neither the mode of a public key is what is wrong with it, nor that of what is not a key.
    if (const auto given = ReadVerifyKey(path)) return is_public();
    const auto file = MappedFile::Open(path);
    const auto begins = [&](ByteSpan b) {
      return std::string_view(reinterpret_cast<const char*>(b.data()), b.size()).starts_with(kPrivatePrefix);
    };
    if (file && !begins(file->bytes())) {
      return Err("{}: is not a private key, expected PRIVATE+KEY+NAME+HASH+DATA (assay keygen makes one)", path);
    }
    return tl::unexpected(bytes.error());
  }
  if (VerifyKey::Parse(Line(*bytes))) return is_public();
  auto key = SigningKey::Parse(Line(*bytes));
  Wipe(*bytes);
  if (!key) return Err("{}: {}", path, key.error().message);
  return key;
}

Result<VerifyKey> ReadVerifyKey(const std::string& path) {
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxKeyFile));
  // Whoever names the private key instead should not find it in a log.
  if (Line(bytes).starts_with(kPrivatePrefix)) return Err("{}: is a private key, expected a public one (PATH.pub)", path);
  auto key = VerifyKey::Parse(Line(bytes));
  if (!key) return Err("{}: {}", path, key.error().message);
  return key;
}

}  // namespace assay
