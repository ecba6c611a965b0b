// Ed25519 signing keys with names, in the text forms of signed notes (docs/formats/log.md, "Keys").
//
// Reading accepts exactly one text for each key, and only public keys under which a signature can be good. A SigningKey's seed is
// wiped when it is destroyed or moved from; no error repeats a private key's text. Thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/sign/ed25519.h"

namespace assay {

using Signature = ed25519::Signature;

// Whether `name` is 1 to 64 characters from A-Z a-z 0-9 . _ - /
bool IsKeyName(std::string_view name);

class VerifyKey {
 public:
  static Result<VerifyKey> Parse(std::string_view vkey);                   // NAME+HASH+DATA, without a line end
  VerifyKey(std::string name, const std::array<std::uint8_t, 32>& point);  // the name must be one
  const std::string& name() const { return name_; }
  const std::array<std::uint8_t, 32>& point() const { return point_; }
  std::uint32_t hash() const;  // big-endian number of the four bytes
  std::string id() const;      // NAME+HASH
  std::string ToString() const;
  bool Verify(ByteSpan message, const Signature& signature) const;
  friend bool operator==(const VerifyKey&, const VerifyKey&) = default;

 private:
  std::string name_;
  std::array<std::uint8_t, 32> point_;
};

class SigningKey {
 public:
  static SigningKey Generate(std::string name);             // from the system's randomness; the name must be one
  static Result<SigningKey> Parse(std::string_view text);   // PRIVATE+KEY+NAME+HASH+DATA, without a line end
  SigningKey(std::string name, const ed25519::Seed& seed);  // a key of known bytes, for tests; the name must be one
  SigningKey(const SigningKey&) = delete;                   // one seed, one place
  SigningKey& operator=(const SigningKey&) = delete;
  SigningKey(SigningKey&& other) noexcept;
  SigningKey& operator=(SigningKey&& other) noexcept;
  ~SigningKey();
  const VerifyKey& verify_key() const { return public_; }
  std::string ToString() const;  // the caller keeps it secret
  Signature Sign(ByteSpan message) const;

 private:
  VerifyKey public_;
  ed25519::Seed seed_;
};

// The private key at `path` (mode 0600) and the public one at `path`.pub, one line each, whole or absent, never over existing
// files. The private key comes first: a kill in between leaves a key that is good and not published.
Status WriteKeyFiles(const std::string& path, const SigningKey& key);
// Refuses files that others may read. The line end is optional.
Result<SigningKey> ReadSigningKey(const std::string& path);
Result<VerifyKey> ReadVerifyKey(const std::string& path);

}  // namespace assay
