// Keys of sealed files in age's text forms (docs/formats/sealed.md): a Recipient (`age1…`) is whom a file is sealed to, an
// Identity (`AGE-SECRET-KEY-1…`) opens it.
//
// Reading accepts exactly one text for each key. An Identity's secret is wiped when it is destroyed or moved from; no error
// repeats an identity's text, also where a recipient was asked for. Thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"
#include "assay/seal/primitives.h"

namespace assay {

class Recipient {
 public:
  static Result<Recipient> Parse(std::string_view text);
  explicit Recipient(const seal::Point& point) : point_(point) {}
  const seal::Point& point() const { return point_; }
  std::string ToString() const;
  friend bool operator==(const Recipient&, const Recipient&) = default;

 private:
  seal::Point point_;
};

// All ways to one are errors in a build that cannot seal.
class Identity {
 public:
  static Result<Identity> Generate(const seal::Randomness& randomness = seal::SystemRandomness);
  static Result<Identity> Parse(std::string_view text);
  const Recipient& recipient() const { return recipient_; }
  const seal::Secret<32>& secret() const { return secret_; }
  std::string ToString() const;  // the caller keeps it secret

 private:
  explicit Identity(seal::Secret<32> secret) : secret_(std::move(secret)), recipient_(seal::X25519Base(secret_)) {}
  seal::Secret<32> secret_;
  Recipient recipient_;
};

// The identity at `path` (mode 0600), never over an existing file, in the form of age-keygen: a comment with the recipient,
// then the line.
Status WriteIdentityFile(const std::string& path, const Identity& identity);
// One or more identities, one a line; empty lines and lines that begin with `#` are passed over. Refuses files that others may
// read.
Result<std::vector<Identity>> ReadIdentityFile(const std::string& path);

}  // namespace assay
