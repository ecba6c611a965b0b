// Claims: everything a run directory asserts, read and compared with the job before any step is replayed. What a whole run is, Fsck says (assay/run/fsck.h);
// here is what an auditor adds: which job and whose run was asked for, and what this machine makes of the job.
//
// What was signed refutes a run when it contradicts itself or the job that was asked for. What counts is the receipt and what it commits to. A file that is
// missing, torn or not the one that the signed parts commit to is damage, and says nothing against the signer; nor does it shield one: where receipt and log are
// whole, steps can be replayed whatever else is damaged. What this machine cannot decide (no receipt yet, other data at hand) is an error: the run is neither
// verified nor refuted.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "assay/base/thread_pool.h"
#include "assay/run/directory.h"
#include "assay/run/fsck.h"
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
  Digest receipt_hash{};               // SHA-256 of the file, from which sampled audits draw
  std::optional<Refutation> lie{};     // the receipt is false about the weights; a replay says more about where
  std::optional<Refutation> damage{};  // to other files
};

using ClaimsOrRefutation = std::variant<Claims, Refutation>;

// What can be said before the job is opened, which may be a hostile one: who signs, and for which job.
Result<std::optional<Refutation>> CheckHeader(const RunDirectory& run, const Expectation& expected);
// And, for who takes the job from the run, that its files are those of its id. An error: cannot be decided here.
Result<std::optional<Refutation>> CheckOwnJob(const RunDirectory& run);

// The run's own job, with the data at `data_path` when that is not empty. An error: cannot be loaded here.
Result<PreparedJob> PrepareRun(const RunDirectory& run, const std::string& data_path, ThreadPool& pool);

// What is wrong with a run's files, by themselves.
struct RunFaults {
  std::optional<Refutation> lie{};     // its signer contradicts itself, by parts that are whole
  std::optional<Refutation> damage{};  // the first; nothing can be answered from such a copy
  bool of_snapshot = false;            // what is false is a snapshot: a replay adds nothing to it
  std::optional<SignedClaims> claims{};
};
// An error: cannot be told here, or the run is not finished.
Result<RunFaults> FindFaults(const RunDirectory& run, ThreadPool& pool);

// Whether it is a run of that job, and of the signer that was asked, as far as its header says. An error: of other data than there is here.
Result<std::optional<Refutation>> CheckAsked(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected);

// `prepared` is the job as this machine understands it: the run's own, or the one that was asked for. A refutation or damage: there is nothing to replay.
Result<ClaimsOrRefutation> CheckClaims(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected,
                                       ThreadPool& pool);

// Whether model.safetensors is byte for byte what training writes for this final state; otherwise what differs: a file that was not signed for is damage. The
// validation loss in its metadata is taken as it is: what it was computed on is not committed to.
Result<std::optional<Refutation>> CheckWeights(const RunDirectory& run, const PreparedJob& prepared, const Claims& claims,
                                               std::span<const Tensor> state, ThreadPool& pool);

}  // namespace assay
