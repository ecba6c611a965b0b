// Claims: everything a run directory asserts, read and compared with the job before any step is replayed.
//
// What was signed refutes a run when it contradicts itself or the job that was asked for. What counts is the receipt and what it commits to: a well signed
// log, snapshot or receipt of another run or of an earlier time is in the wrong place, and nobody can say who put it there. That is damage, like a file that is
// missing, torn or not the one that the signed parts commit to, and like a signature that does not fit: it says nothing against the signer. What this machine cannot decide (no receipt yet, other
// data at hand) is an error: the run is neither verified nor refuted.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "assay/base/thread_pool.h"
#include "assay/run/directory.h"
#include "assay/run/log.h"
#include "assay/run/receipt.h"
#include "assay/train/prepare.h"

namespace assay {

// Why a run is refuted, or damaged, and where: the step (counted from 1; 0: the starting state), the node of that step and the 4 KiB leaf of its output,
// as far as they are known.
struct Refutation {
  std::string reason;
  bool damage = false;  // of the copy: no fault of whoever signed it
  bool open = false;    // neither: an audit that leaves rounding logs alone found what an honest run may have done, too
  std::optional<std::int64_t> step{};
  std::optional<std::int64_t> node{};
  std::string node_name{};
  std::optional<std::int64_t> leaf{};
  bool first_result =
      false;  // the node is the one that writes the first result that differs; what went wrong may have come before it
};

struct Expectation {
  std::optional<Digest> job{};        // the id of the job that was asked for
  std::optional<VerifyKey> signer{};  // who was asked
};

struct Claims {
  RunLog log;
  Receipt receipt;
  Digest receipt_hash{};  // SHA-256 of the file, from which sampled audits draw
};

using ClaimsOrRefutation = std::variant<Claims, Refutation>;

// What can be said before the job is opened, which may be a hostile one: who signs, for which job, and that the job's encodings are those of its id.
// An error: cannot be decided here.
Result<std::optional<Refutation>> CheckHeader(const RunDirectory& run, const Expectation& expected);

// The run's own job, with the data at `data_path` when that is not empty. An error: cannot be loaded here.
Result<PreparedJob> PrepareRun(const RunDirectory& run, const std::string& data_path, ThreadPool& pool);

// `prepared` is the job as this machine understands it: the run's own, or the one that was asked for.
Result<ClaimsOrRefutation> CheckClaims(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected);

// Whether model.safetensors is byte for byte what training writes for this final state; otherwise what differs: a file that was not signed for is damage. The
// validation loss in its metadata is taken as it is: what it was computed on is not committed to.
Result<std::optional<Refutation>> CheckWeights(const RunDirectory& run, const PreparedJob& prepared, const Claims& claims,
                                               std::span<const Tensor> state, ThreadPool& pool);

}  // namespace assay
