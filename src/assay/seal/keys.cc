#include "assay/seal/keys.h"

#include <algorithm>
#include <utility>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/seal/bech32.h"

namespace assay {
namespace {

using seal::Bech32;
using seal::Wipe;

constexpr std::string_view kRecipientPrefix = "age";
constexpr std::string_view kIdentityPrefix = "age-secret-key-";  // written in upper case
constexpr std::uint64_t kMaxIdentityFile = 64 << 10;

char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Whether a text might give an identity away, in whatever case and however damaged.
bool LooksSecret(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), Upper);
  const bool found = upper.find("SECRET-KEY") != std::string::npos;
  Wipe(upper);
  return found;
}

// The 32 bytes behind the prefix.
Result<seal::Secret<32>> Decode(std::string_view text, std::string_view prefix) {
  ASSAY_ASSIGN(Bech32 parts, seal::FromBech32(text));
  seal::Secret<32> out;
  const std::size_t size = parts.data.size();
  if (size == out.bytes().size()) std::copy(parts.data.begin(), parts.data.end(), out.bytes().begin());
  Wipe(parts.data);
  if (parts.prefix != prefix) return Err("its prefix is {}, expected {}", Quote(parts.prefix), prefix);
  if (size != out.bytes().size()) return Err("it holds {} bytes, expected {}", size, out.bytes().size());
  return out;
}

}  // namespace

Result<Recipient> Recipient::Parse(std::string_view text) {
  if (LooksSecret(text)) return Err("expected a recipient age1..., got an identity, which is to be kept secret");
  const auto point = Decode(text, kRecipientPrefix);
  if (!point) return Err("expected a recipient age1..., got {}: {}", Quote(text), point.error().message);
  return Recipient(point->bytes());
}

std::string Recipient::ToString() const { return seal::ToBech32(kRecipientPrefix, point_); }

Result<Identity> Identity::Generate(const seal::Randomness& randomness) {
  ASSAY_TRY(seal::CheckCanSeal());
  seal::Secret<32> secret;
  randomness(secret.bytes());
  return Identity(std::move(secret));
}

Result<Identity> Identity::Parse(std::string_view text) {
  ASSAY_TRY(seal::CheckCanSeal());
  std::string prefix(kIdentityPrefix);
  std::transform(prefix.begin(), prefix.end(), prefix.begin(), Upper);
  auto secret = Decode(text, prefix);
  if (!secret) return Err("expected an identity AGE-SECRET-KEY-1...: {}", secret.error().message);
  return Identity(*std::move(secret));
}

std::string Identity::ToString() const {
  std::string text = seal::ToBech32(kIdentityPrefix, secret_.bytes());
  std::transform(text.begin(), text.end(), text.begin(), Upper);
  return text;
}

Status WriteIdentityFile(const std::string& path, const Identity& identity) {
  std::string text = identity.ToString();
  const FileBody body = [&](FileSink& sink) -> Status {
    ASSAY_TRY(sink.Write(fmt::format("# public key: {}\n", identity.recipient().ToString())));
    ASSAY_TRY(sink.Write(text));
    return sink.Write("\n");
  };
  const Status written = WriteFileAtomic(path, body, {.mode = 0600, .replace = false});
  Wipe(text);
  return written;
}

Result<std::vector<Identity>> ReadIdentityFile(const std::string& path) {
  ASSAY_TRY(seal::CheckCanSeal());
  ASSAY_ASSIGN(Bytes bytes, ReadPrivateFile(path, kMaxIdentityFile));
  std::vector<Identity> identities;
  Status status;
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (int number = 1; status && !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.starts_with('#')) continue;
    auto identity = Identity::Parse(line);
    if (identity) {
      identities.push_back(*std::move(identity));
    } else {
      status = Err("{}: line {}: {}", path, number, identity.error().message);
    }
  }
  Wipe(bytes);
  ASSAY_TRY(status);
  if (identities.empty()) return Err("{}: holds no identity (a line AGE-SECRET-KEY-1...)", path);
  return identities;
}

}  // namespace assay
