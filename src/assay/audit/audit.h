// The audit: does a run directory hold what its job gives? First the claims among themselves, then steps run again and compared with the log,
// all of them or a sample; where a step differs, a closer look at what differs.
//
// The verdict depends on the run, the job and, for a sample, the nonce; not on this machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/audit/claims.h"
#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/run/segments.h"
#include "assay/train/stepper.h"

namespace assay {

enum class Verdict {
  kVerified,
  kRefuted,    // what was signed contradicts itself, the job that was asked for, or a value that was computed again
  kUnchecked,  // this machine cannot tell
  kDamaged,  // a file is not the one that was signed for, or a signature does not fit: a bad copy, which speaks against nobody
};
std::string_view Name(Verdict verdict);  // "verified"

struct AuditOptions {
  Expectation expected{};
  std::optional<double> sample_percent{};  // none: every step
  Bytes nonce{};                           // for a sample
  bool ignore_roundings = false;           // decide close calls without the log, which shows where runs drift apart
};

// Called on the auditing thread. All may be empty.
struct AuditHooks {
  std::function<void(std::int64_t steps)> on_start{};  // to be replayed
  std::function<void(std::int64_t done, std::int64_t step, float loss)> on_step{};
  std::function<void(const StepRounding&)> on_rounding{};  // of each step, on a backend that rounds
  std::function<void(const std::string&)> on_note{};       // what is being looked at
  std::function<bool()> should_stop{};                     // asked before each step
};

// Of jobs that round: bytes of the logs that were followed, the decisions in them, and how many were taken otherwise here. Where logs are ignored all of that is 0
// and says nothing about them.
struct AuditRoundings {
  std::uint64_t log_bytes = 0;
  std::uint64_t decisions = 0;
  std::uint64_t corrections = 0;
  std::uint64_t elements = 0;  // that have a bound
  bool examined = true;  // what was followed has been held against the truth where it is not what would have been written here
  bool symbols = false;  // by the published rule: the decisions are its symbols, and the run is verified only up to them
};

struct AuditReport {
  Verdict verdict = Verdict::kUnchecked;
  std::int64_t steps_checked = 0;
  std::int64_t segments = 0;          // of the run
  std::vector<std::int64_t> drawn{};  // the ones that were replayed: all of a sample, unless something ended the audit earlier
  std::optional<Refutation> refutation{};  // of a run that is refuted or damaged, or that differs without its rounding log
  std::string reason{};                    // why it could not be checked
  std::optional<AuditRoundings> roundings{};
};

// What the verdict of such an audit takes on trust, a line for each.
std::vector<std::string> AssumedBy(const AuditOptions& options, const RunDirectory& run, const AuditReport& report);

// The words of an audit about steps first to last (0: the starting state): what is false about the entries of the log that commit to them, with the steps
// between them and the nearest snapshot gone through on the way. Nothing where all of them are as the job gives them. For those who know already where to look, such
// as a dispute about two runs. An error: cannot be told here, or the log has no such entries. `on_start` is not called.
Result<std::optional<Refutation>> AuditSteps(const RunDirectory& run, const PreparedJob& prepared, std::int64_t first,
                                             std::int64_t last, Backend& backend, ThreadPool& pool, const AuditHooks& hooks);

// The same about the steps of a stretch that begins at a snapshot which the run has, or at the start, and nothing before it: what a part of a run can be held against. The
// run need not be whole.
Result<std::optional<Refutation>> AuditStretch(const RunDirectory& run, const PreparedJob& prepared, const Segment& stretch,
                                               Backend& backend, ThreadPool& pool, const AuditHooks& hooks);

AuditReport Audit(const RunDirectory& run, const PreparedJob& prepared, const AuditOptions& options, Backend& backend,
                  ThreadPool& pool, const AuditHooks& hooks);

}  // namespace assay
