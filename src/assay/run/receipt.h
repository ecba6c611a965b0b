// Receipt: the signed commitment to a finished run (docs/formats/receipt.md). Value type; pure functions.
//
// What a receipt promises is what the job's bits are: the log, the first and the last state, the last loss and the weights that are delivered. The rest of it
// names the job or says how the provider keeps its files, and two honest receipts may differ in that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/sign/key.h"
#include "assay/sign/note.h"

namespace assay {

// The run whose rounding log a run took its decisions from.
struct Follows {
  std::string signer;  // NAME+HASH+DATA
  Digest log_root{};
  friend bool operator==(const Follows&, const Follows&) = default;
};

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
  Digest weights{};                  // root over the tensors of model.safetensors, whatever its metadata says
  std::optional<Follows> follows{};  // none: the run's decisions, if its job has any, are its own
  std::string signer;                // NAME+HASH+DATA

  friend bool operator==(const Receipt&, const Receipt&) = default;
};

// Whether both promise the same bits of the same job.
bool SamePromise(const Receipt& a, const Receipt& b);
// Whether one key has signed both and both cannot be true. `exact_job`: the job's precision leaves no bit open (fp32); of any other job two honest runs may
// differ, and nothing contradicts. A key is its public key; what name it goes by does not matter.
bool Contradict(const Receipt& a, const Receipt& b, bool exact_job);

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
