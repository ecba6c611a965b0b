// WitnessKey: somebody who has seen a checkpoint and says so by a signature beside the coordinator's. Who insists on a witness that it trusts cannot be shown a
// history of its own.
//
// Two kinds of signatures count: those over the checkpoint's text (key type 1, like the coordinator's own), and cosignatures with the time at which the witness
// saw it (C2SP tlog-cosignature, "cosignature/v1", key type 4). Value type; pure.
#pragma once

#include <string_view>

#include "assay/base/result.h"
#include "assay/sign/key.h"

namespace assay::client {

class WitnessKey {
 public:
  static Result<WitnessKey> Parse(std::string_view vkey);  // NAME+HASH+DATA, of either type
  // An error: the note carries no good signature of this witness.
  Status Verify(std::string_view note, std::string_view what) const;
  std::string id() const;  // NAME+HASH

 private:
  WitnessKey(VerifyKey key, bool timed) : key_(std::move(key)), timed_(timed) {}
  VerifyKey key_;
  bool timed_;  // of type 4
};

}  // namespace assay::client
