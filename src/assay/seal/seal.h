// Sealed files: age v1 (docs/formats/sealed.md), which the `age` command opens and writes too. A file is sealed to recipients
// and opened by the identity of any of them; whoever has neither learns its size and the number of recipients, and nobody can
// alter it unnoticed.
//
// Memory does not depend on the size of a file. Nothing of a chunk comes out before it is authenticated, but chunks come out
// before the file has been read to its end: what they are good for is known when Read returns 0 (UnsealFile keeps that for its
// caller). Sealing does not say who sealed: that is for a signature, or for a statement that a SealBinding binds to the file. In a build without libsodium (primitives.h) all of it
// returns an error. Neither class is synchronised.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/seal/chunks.h"
#include "assay/seal/file_key.h"
#include "assay/seal/keys.h"
#include "assay/seal/source.h"

namespace assay {

// Binds statements to one sealed file: only who sealed it, and whom it is sealed to, can make the MAC of a statement and check it (docs/formats/sealed.md, "Bound
// files"). Holds a key that follows from the file's and opens nothing. Movable.
class SealBinding {
 public:
  explicit SealBinding(const seal::FileKey& key) : key_(seal::BindingKey(key)) {}
  seal::Mac Of(std::string_view statement) const;
  bool Holds(std::string_view statement, const seal::Mac& mac) const;

 private:
  seal::Secret<32> key_;
};

// Seals what is written. A writer that is destroyed before Finish leaves a file that readers see to be truncated. Movable.
class SealWriter {
 public:
  // Writes the header. An error without recipients, with more than a header has room for, or with one that keeps no secret.
  static Result<SealWriter> Start(std::span<const Recipient> recipients, ByteSink sink,
                                  const seal::Randomness& randomness = seal::SystemRandomness);
  Status Write(ByteSpan plain);
  Status Finish();  // once, and nothing after it
  // For statements about the file, of which its hash may be one once it is finished.
  SealBinding TakeBinding() && { return std::move(binding_); }

 private:
  SealWriter(seal::ChunkSealer chunks, SealBinding binding) : chunks_(std::move(chunks)), binding_(std::move(binding)) {}
  Status Keep(Status status);
  seal::ChunkSealer chunks_;
  SealBinding binding_;
  std::optional<Error> error_{};  // what the sink said; no chunk may follow one that is missing
  bool finished_ = false;
};

// Opens a sealed file, armored or not. Errors name it `what`. Movable.
class SealReader {
 public:
  // Reads the header and checks it.
  static Result<SealReader> Open(ByteSource source, std::span<const Identity> identities, std::string what);
  // How many bytes of `out`, which is not empty, were filled; 0 at the end, when the file is known to be whole. After an error,
  // the same error.
  Result<std::size_t> Read(std::span<std::uint8_t> out);
  const SealBinding& binding() const { return binding_; }
  SealBinding TakeBinding() && { return std::move(binding_); }

 private:
  SealReader(seal::ChunkOpener chunks, SealBinding binding) : chunks_(std::move(chunks)), binding_(std::move(binding)) {}
  seal::ChunkOpener chunks_;
  SealBinding binding_;
  ByteSpan held_{};  // of the chunk that was opened last
  std::optional<Error> error_{};
};

// What has to hold before anything of an opened file is used.
using BindingCheck = std::function<Status(const SealBinding& binding)>;

// From the source's beginning to its end.
Result<SealBinding> Seal(const ByteSource& plain, std::span<const Recipient> recipients, const ByteSink& sealed);
// What reached the sink is to be thrown away on an error. Nothing reaches it unless `check`, where there is one, says yes.
Status Unseal(ByteSource sealed, std::span<const Identity> identities, const ByteSink& plain, std::string what,
              const BindingCheck& check = {});

// One file into another, which is whole or absent; the plaintext is for its owner alone (mode 0600).
Result<SealBinding> SealFile(const std::string& plain, std::span<const Recipient> recipients, const std::string& sealed);
Status UnsealFile(const std::string& sealed, std::span<const Identity> identities, const std::string& plain,
                  const BindingCheck& check = {});

}  // namespace assay
