#include "assay/cli/signer.h"

#include <cstdlib>
#include <string_view>

#include "assay/base/file.h"

namespace assay::cli {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<std::string> OwnKeyPath() {
  const std::string config = Environment("XDG_CONFIG_HOME");
  if (config.starts_with('/')) return JoinPath(config, "assay/key");
  const std::string home = Environment("HOME");
  if (home.starts_with('/')) return JoinPath(home, ".config/assay/key");
  return Err(
      "no signing key: HOME is not set; make one with assay keygen --out FILE and name it with --key FILE or $ASSAY_KEY");
}

}  // namespace

Result<SigningKey> OpenSigner(const std::string& path) {
  if (!path.empty()) return ReadSigningKey(path);
  if (const std::string named = Environment("ASSAY_KEY"); !named.empty()) return ReadSigningKey(named);
  ASSAY_ASSIGN(const std::string own, OwnKeyPath());
  if (!Exists(own)) {
    const auto refused = [&](const Error& error) {
      return Err(
          "no signing key: cannot make one at {} ({}); name one with --key FILE or $ASSAY_KEY, made by assay keygen --out FILE",
          own, error.message);
    };
    if (const Status made = MakeDirectories(own.substr(0, own.find_last_of('/'))); !made) return refused(made.error());
    const SigningKey key = SigningKey::Generate("assay");
    // Another process may have been faster; its key is as good.
    if (const Status written = WriteKeyFiles(own, key); !written && !Exists(own)) return refused(written.error());
    fmt::print(stderr, "made a signing key for you: {}; its public part is {}.pub\n", own, own);
  }
  return ReadSigningKey(own);
}

std::string ExistingSignerPath() {
  if (std::string named = Environment("ASSAY_KEY"); !named.empty()) return named;
  const Result<std::string> own = OwnKeyPath();
  return own && Exists(*own) ? *own : "";
}

Result<SigningKey> OpenSignerOf(const VerifyKey& signer, const std::string& run, const std::string& path) {
  const std::string file = path.empty() ? ExistingSignerPath() : path;
  if (file.empty())
    return Err("{}: is signed by {}, and there is no key here; name that key with --key FILE", run, signer.id());
  ASSAY_ASSIGN(SigningKey key, ReadSigningKey(file));
  if (key.verify_key() != signer) {
    return Err("{}: is signed by {}, not by {}; name that key with --key", run, signer.id(), key.verify_key().id());
  }
  return key;
}

Result<std::optional<SigningKey>> OpenExistingSigner() {
  const std::string path = ExistingSignerPath();
  if (path.empty()) return std::nullopt;
  ASSAY_ASSIGN(SigningKey key, ReadSigningKey(path));
  return std::optional<SigningKey>(std::move(key));
}

Result<std::optional<SigningKey>> OpenSignerIfAny(const std::string& path) {
  if (path.empty()) return OpenExistingSigner();
  ASSAY_ASSIGN(SigningKey key, ReadSigningKey(path));
  return std::optional<SigningKey>(std::move(key));
}

Result<VerifyKey> ParseSigner(const std::string& text) { return ParsePublicKey("--signer", text); }

Result<VerifyKey> ParsePublicKey(std::string_view option, const std::string& text) {
  if (Exists(text)) return ReadVerifyKey(text);
  auto key = VerifyKey::Parse(text);
  if (!key) {
    if (text.starts_with("PRIVATE+KEY+")) return Err("{}: is a private key, expected the public one", option);
    return Err("{}: there is no file '{}', and it is not a key; expected a public key (NAME+HASH+DATA) or a file with one",
               option, text);
  }
  return key;
}

Result<WitnessKey> ParseWitness(const std::string& text) {
  if (!Exists(text)) return WitnessKey::Parse(text);
  constexpr std::uint64_t kMaxKeyFile = 4096;
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(text, kMaxKeyFile));
  std::string line(bytes.begin(), bytes.end());
  while (line.ends_with('\n') || line.ends_with('\r')) line.pop_back();
  auto key = WitnessKey::Parse(line);
  if (!key) return Err("{}: {}", text, key.error().message);
  return key;
}

}  // namespace assay::cli
