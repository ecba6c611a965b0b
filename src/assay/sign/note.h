// Signed notes and checkpoints as C2SP defines them: what a log's signer says about it.
//
// A note is text that ends in a line feed, an empty line, and signature lines. Ours, and all that is read here, is visible ASCII
// apart from the dash that begins a signature line. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/key.h"

namespace assay {

inline constexpr std::uint64_t kMaxNoteBytes = 1 << 16;

struct Checkpoint {
  std::string origin;  // visible ASCII without spaces, not empty
  std::uint64_t size = 0;
  Digest root{};
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// The three lines that are signed.
std::string CheckpointText(const Checkpoint& checkpoint);
// The whole note: three lines, an empty one, one signature line.
std::string SignCheckpoint(const Checkpoint& checkpoint, const SigningKey& key);
// Accepts a note that carries one good signature of `key`; other keys' signatures (of witnesses) may stand beside it and are not
// looked at, a bad or a second one of `key` is an error. Extension lines, sizes above 2^63 - 1, an empty tree with another root
// than the hash of no bytes, and notes longer than kMaxNoteBytes are refused. `what` names the source in errors.
Result<Checkpoint> OpenCheckpoint(std::string_view note, const VerifyKey& key, std::string_view what);

}  // namespace assay
