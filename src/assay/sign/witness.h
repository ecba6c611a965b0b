// WitnessKey: somebody who has seen a checkpoint and says so by a signature beside that of the log's signer. Who insists on a witness that it trusts cannot be
// shown a history of its own.
//
// Two kinds of signatures count: those over the checkpoint's text (key type 1, like the log's own), and cosignatures with the time at which the witness
// saw it (C2SP tlog-cosignature, "cosignature/v1", key type 4). Value type; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/sign/key.h"

namespace assay {

class WitnessKey {
 public:
  static Result<WitnessKey> Parse(std::string_view vkey);  // NAME+HASH+DATA, of either type
  // An error: the note carries no good signature of this witness.
  Status Verify(std::string_view note, std::string_view what) const;
  // When the witness saw it, in seconds since 1970, by its own word; the earliest where it says so more than once. None: no good cosignature with a time.
  std::optional<std::uint64_t> SeenAt(std::string_view note) const;
  std::string id() const;  // NAME+HASH

 private:
  WitnessKey(VerifyKey key, bool timed) : key_(std::move(key)), timed_(timed) {}
  VerifyKey key_;
  bool timed_;  // of type 4
};

}  // namespace assay
