#include "assay/audit/claims.h"

#include <algorithm>
#include <bit>

#include "assay/merkle/tree.h"
#include "assay/run/entry_rules.h"
#include "assay/run/follows.h"
#include "assay/run/snapshot_fit.h"
#include "assay/run/weights_root.h"
#include "assay/train/job_paths.h"
#include "assay/train/weights.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;
constexpr std::uint64_t kMaxFixedBytes = std::uint64_t{1} << 30;

std::optional<Refutation> Refute(std::string reason, std::optional<std::int64_t> step = std::nullopt) {
  return Refutation{.reason = std::move(reason), .step = step};
}

std::optional<Refutation> Damaged(std::string reason, std::optional<std::int64_t> step = std::nullopt) {
  return Refutation{.reason = std::move(reason), .damage = true, .step = step};
}

// Of files that are not what they should be: those are damaged, unless it is this machine that cannot read them.
Result<std::optional<Refutation>> DamagedBy(const Error& error, std::optional<std::int64_t> step = std::nullopt) {
  if (error.system) return tl::unexpected(error);
  return Damaged(error.message, step);
}

// Nobody signs `id` and the job's files; what was signed is the job's id, which they lead to.
Result<std::optional<Refutation>> CheckIdentity(const RunDirectory& run, const PreparedJob& prepared) {
  const RunIdentity& id = run.identity();
  if (id.job != prepared.identity.job && id.data != prepared.identity.data) {
    return Err(
        "{}: was trained on another data set than the one here: its data root is {}, here it is {}; name its data with --data "
        "PATH",
        run.path(), id.data.hex(), prepared.identity.data.hex());
  }
  if (id.job != prepared.identity.job) {
    return Damaged(fmt::format("job.toml is of job {:.16}, the run of job {:.16}", prepared.identity.job.hex(), id.job.hex()));
  }
  if (id != prepared.identity) return Damaged("id names another data root or trajectory than its job has");
  return std::nullopt;
}

// The receipt by itself. For a job, its id settles everything that is compared here, so that one who signed otherwise has signed what cannot be true. A receipt
// for another job may be as true as any; it is in the wrong place.
std::optional<Refutation> CheckReceipt(const Receipt& receipt, const RunDirectory& run, const Job& job, bool own_job) {
  const RunIdentity& id = run.identity();
  if (receipt.job != id.job) {
    return Damaged(fmt::format("the receipt is for another job, {:.16}, not for {:.16}: it does not belong to this run",
                               receipt.job.hex(), id.job.hex()));
  }
  const std::pair<std::string_view, bool> fields[] = {
      {"trajectory", receipt.trajectory == id.trajectory},
      {"program", receipt.program == run.header().program_bin},
      {"data", receipt.data == id.data},
      {"steps", receipt.steps == job.steps},
      {"commit_every", receipt.commit_every == job.commit_every},
      {"log.origin", receipt.log.origin == LogOrigin(run.signer(), id.job)},
  };
  for (const auto& [name, holds] : fields) {
    if (!holds) return Refute(fmt::format("the receipt's {} is not that of its job", name));
  }
  const CommitSchedule schedule = CommitSchedule::Of(job);
  const auto size = static_cast<std::uint64_t>(schedule.entries());
  if (receipt.log.size < size) {
    const std::int64_t missing = schedule.StepOfEntry(static_cast<std::int64_t>(receipt.log.size));
    return Refute(fmt::format("the receipt signs a log that ends after {} of {} entries: step {} is missing", receipt.log.size,
                              size, missing),
                  missing);
  }
  if (receipt.log.size > size) {
    return Refute(fmt::format("the receipt signs a log of {} entries, its job commits {}", receipt.log.size, size));
  }
  // Not part of the job's identity: a provider may keep more or fewer snapshots than it was asked for. Nobody signs job.toml, which says it, too.
  if (own_job && receipt.snapshot_every != job.snapshot.every) {
    return Damaged(fmt::format("job.toml says a snapshot every {} steps, the receipt every {}", job.snapshot.every,
                               receipt.snapshot_every));
  }
  return std::nullopt;
}

// Only the log that the receipt signs speaks for or against who signed it: another one, of an earlier time or another run, is as well signed.
std::optional<Refutation> CheckHead(const Receipt& receipt, const Checkpoint& here) {
  if (receipt.log == here) return std::nullopt;
  if (receipt.log.origin != here.origin) {
    return Damaged(
        fmt::format("the receipt signs another log than the one here: {}, here is {}", receipt.log.origin, here.origin));
  }
  return Damaged(fmt::format(
      "the receipt signs another log than the one here: {} entries with the root {:.16}, here are {} with the root {:.16}",
      receipt.log.size, receipt.log.root.hex(), here.size, here.root.hex()));
}

// The log that the receipt signs.
std::optional<Refutation> CheckEntries(const Receipt& receipt, const RunLog& log, const Job& job) {
  const EntryRules rules = EntryRules::Of(job);
  if (const auto wrong = FindWrongEntry(rules, log.entries(), log.trajectory())) {
    return Refute(fmt::format("entry {} of the log {}", wrong->index, wrong->what), rules.schedule.StepOfEntry(wrong->index));
  }
  const std::pair<std::string_view, bool> fields[] = {
      {"initial_state_root", receipt.initial_state_root == log.entries().front().state_root},
      {"final_state_root", receipt.final_state_root == log.entries().back().state_root},
      {"loss_bits", receipt.loss_bits == log.entries().back().loss_bits},
  };
  for (const auto& [name, holds] : fields) {
    if (!holds) return Refute(fmt::format("the receipt's {} is not that of the log that it signs", name));
  }
  return std::nullopt;
}

// The metadata of every snapshot that is kept, against the log; the tensors are checked where a snapshot is used. One that its signer signed for and the log
// contradicts, refutes where the job leaves no bit open; any other is no snapshot of this run.
Result<std::optional<Refutation>> CheckSnapshots(const RunDirectory& run, const RunLog& log, const Job& job) {
  const CommitSchedule schedule = CommitSchedule::Of(job);
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run.SnapshotSteps());
  for (const std::int64_t step : steps) {
    const std::string path = run.SnapshotPath(step);
    const auto file = Safetensors::Open(path);
    if (!file) return DamagedBy(file.error(), step);
    const auto info = SnapshotInfoOf(*file);
    if (!info) return DamagedBy(info.error(), step);
    if (info->step != step || info->weights_only || info->trajectory != log.trajectory()) {
      return Damaged(fmt::format("{}: is a snapshot of another run or step", path), step);
    }
    if (const Status fits = CheckFitsLog(*info, log, schedule, run.signer()); !fits) {
      const std::string reason = fmt::format("{}: {}", path, fits.error().message);
      const bool guilt = job.precision == Precision::kFp32 && IsSignedBy(*info, run.signer());
      return guilt ? Refute(reason, step) : Damaged(reason, step);
    }
  }
  return std::nullopt;
}

// What is wrong with the delivered file. `right` is the root of the weights, `info` what its metadata should say, but for the validation loss.
std::optional<Refutation> DeliveredFault(const Safetensors& file, std::span<const TensorRef> weights, const Digest& right,
                                         SnapshotInfo info, const Receipt& receipt, ThreadPool& pool) {
  // Before anything of it is hashed: it may claim any size.
  if (!HasTensorsOf(file, weights)) return Damaged(fmt::format("{}: has other tensors than the model", file.what()), info.step);
  const Digest delivered = WeightsRoot(file, pool).value_or(Digest{});
  const bool same_file = HashBytes(file.bytes()) == receipt.model;
  const bool signed_for = same_file || (delivered != right && delivered == receipt.weights);
  const auto fault = [&](const std::string& reason, std::optional<std::int64_t> leaf) {
    return Refutation{.reason = reason, .damage = !signed_for, .step = info.step, .leaf = leaf};
  };
  const auto said = SnapshotInfoOf(file);
  if (!said) return fault(said.error().message, std::nullopt);
  info.validation_loss = said->validation_loss;
  if (const auto difference = CompareWeights(file, weights, info)) {
    return fault(fmt::format("{}: {}", file.what(), difference->what), difference->leaf);
  }
  if (!same_file) return Damaged(fmt::format("{}: is not the file that the receipt names", file.what()), info.step);
  return std::nullopt;
}

}  // namespace

Result<PreparedJob> PrepareRun(const RunDirectory& run, const std::string& data_path, ThreadPool& pool) {
  ASSAY_ASSIGN(Job job, LoadRunJob(run, data_path));
  ASSAY_TRY(CheckFilesOf(run, job));
  return PrepareAgain(run, std::move(job), &pool);
}

Result<std::optional<Refutation>> CheckHeader(const RunDirectory& run, const Expectation& expected) {
  const RunIdentity& id = run.identity();
  if (expected.job && id.job != *expected.job) {
    return Refute(
        fmt::format("is a run of job {:.16}, not of the job that was asked for, {:.16} (other data or another number of steps "
                    "is another job)",
                    id.job.hex(), expected.job->hex()));
  }
  if (expected.signer && run.signer() != *expected.signer) {
    return Refute(fmt::format("is signed by {}, not by {}", run.signer().ToString(), expected.signer->ToString()));
  }
  if (const Status fixed = run.CheckFixedFiles(); !fixed) return DamagedBy(fixed.error());
  ASSAY_ASSIGN(const Bytes job, ReadFile(JoinPath(run.path(), "job.bin"), kMaxFixedBytes));
  ASSAY_ASSIGN(const Bytes program, ReadFile(JoinPath(run.path(), "program.bin"), kMaxFixedBytes));
  if (JobId(job, program) != id.job) return Damaged("job.bin and program.bin are not those of the job that id names");
  return std::nullopt;
}

Result<ClaimsOrRefutation> CheckClaims(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected) {
  ASSAY_ASSIGN(auto refuted, CheckHeader(run, expected));
  if (!refuted) {
    ASSAY_ASSIGN(refuted, CheckIdentity(run, prepared));
  }
  if (refuted) return *std::move(refuted);
  if (!Exists(run.receipt_path())) {
    return Err("{}: has no receipt: its training is not finished (assay train continues it)", run.path());
  }
  ASSAY_ASSIGN(const Bytes file, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto receipt = OpenReceipt(text, run.signer(), run.receipt_path());
  if (!receipt) {
    ASSAY_ASSIGN(refuted, DamagedBy(receipt.error()));
    return *std::move(refuted);
  }
  const Job& job = prepared.job;
  refuted = CheckReceipt(*receipt, run, job, !expected.job);
  if (refuted) return *std::move(refuted);
  const auto head = RunLog::Head(run.log_path(), run.signer());
  if (!head) {
    ASSAY_ASSIGN(refuted, DamagedBy(head.error()));
    return *std::move(refuted);
  }
  if (auto other = CheckHead(*receipt, *head)) return *std::move(other);
  auto log = RunLog::Examine(run.log_path(), run.signer(), run.identity().trajectory, receipt->log.size);
  if (!log) {
    const LogFault& fault = log.error();
    if (fault.error.system) return tl::unexpected(fault.error);
    return Refutation{.reason = fault.error.message, .damage = !fault.of_signer};
  }
  const auto follows = ReadFollows(run.follows_path());
  if (!follows) {
    ASSAY_ASSIGN(refuted, DamagedBy(follows.error()));
    return *std::move(refuted);
  }
  refuted = CheckEntries(*receipt, *log, job);
  // Nobody signs the file that says whom a run follows; what was signed is the receipt.
  if (!refuted && receipt->follows != *follows) refuted = Damaged("the run's file `follows` is not what its receipt says");
  if (!refuted) {
    ASSAY_ASSIGN(refuted, CheckSnapshots(run, *log, job));
  }
  if (refuted) return *std::move(refuted);
  return Claims{.log = std::move(*log), .receipt = *receipt, .receipt_hash = HashBytes(file)};
}

Result<std::optional<Refutation>> CheckWeights(const RunDirectory& run, const PreparedJob& prepared, const Claims& claims,
                                               std::span<const Tensor> state, ThreadPool& pool) {
  const std::int64_t step = prepared.job.steps;
  const LogEntry& last = claims.log.entries().back();
  const auto file = Safetensors::Open(run.weights_path());
  if (!file) return DamagedBy(file.error(), step);
  const std::vector<TensorRef> weights = WeightsOf(prepared, state);
  const SnapshotInfo info{.weights_only = true,
                          .step = step,
                          .job = prepared.identity.job,
                          .trajectory = prepared.identity.trajectory,
                          .state_root = last.state_root,
                          .loss = std::bit_cast<float>(last.loss_bits),
                          .validation_loss = {}};
  const Digest right = WeightsRoot(weights, pool);
  std::optional<Refutation> fault = DeliveredFault(*file, weights, right, info, claims.receipt, pool);
  // False whatever file lies here; a false file that was signed for shows more.
  if (claims.receipt.weights != right && (!fault || fault->damage)) {
    return Refute("the receipt's weights root is not that of the weights that the training ended with", step);
  }
  return fault;
}

}  // namespace assay
