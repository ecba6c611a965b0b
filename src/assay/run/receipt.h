// Receipt: the signed commitment to a finished run (docs/formats/receipt.md). Value type; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/merkle/key.h"
#include "assay/merkle/note.h"
#include "assay/merkle/sha256.h"

namespace assay {

struct Receipt {
  Digest model{};  // SHA-256 of model.safetensors
  Digest job{};
  Digest trajectory{};
  Digest program{};  // SHA-256 of program.bin
  Digest data{};     // data root
  std::int64_t steps = 0;
  std::int64_t commit_every = 0;
  std::int64_t snapshot_every = 0;
  Checkpoint log;
  Digest initial_state_root{};
  Digest final_state_root{};
  std::uint32_t loss_bits = 0;
  std::string signer;  // NAME+HASH+DATA

  friend bool operator==(const Receipt&, const Receipt&) = default;
};

// "says steps 9, the run has 10": the first field in which a receipt differs from what its run is. Empty when none does.
std::string DifferenceOf(const Receipt& said, const Receipt& run);

// The in-toto statement, compact JSON in a fixed key order.
std::string ToStatement(const Receipt& receipt);
// Accepts exactly what ToStatement writes.
Result<Receipt> ParseStatement(std::string_view statement, std::string_view what);

// The whole file.
std::string SignReceipt(const Receipt& receipt, const SigningKey& key);
// Checks the signature of `key` over the bytes received, then the statement, and that it names `key` as its signer.
Result<Receipt> OpenReceipt(std::string_view file, const VerifyKey& key, std::string_view what);

}  // namespace assay
