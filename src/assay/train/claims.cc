#include "assay/train/claims.h"

#include <algorithm>
#include <bit>

#include "assay/merkle/tree.h"
#include "assay/run/entry_rules.h"
#include "assay/run/follows.h"
#include "assay/run/weights_root.h"
#include "assay/train/weights.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;
constexpr std::uint64_t kMaxFixedBytes = std::uint64_t{1} << 30;

std::optional<Refutation> Refute(std::string reason, std::optional<std::int64_t> step = std::nullopt) {
  return Refutation{.reason = std::move(reason), .step = step};
}

// An error that says something about the run refutes it; one of this machine leaves it undecided.
Result<std::optional<Refutation>> RefuteBy(const Error& error, std::optional<std::int64_t> step = std::nullopt) {
  if (error.system) return tl::unexpected(error);
  return Refute(error.message, step);
}

std::optional<Refutation> CheckIdentity(const RunDirectory& run, const PreparedJob& prepared) {
  const RunIdentity& id = run.identity();
  if (id.data != prepared.identity.data) {
    return Refute(fmt::format("was trained on another data set: its data root is {:.16}, that of the data here {:.16}",
                              id.data.hex(), prepared.identity.data.hex()));
  }
  if (id.job != prepared.identity.job || id.trajectory != prepared.identity.trajectory) {
    return Refute(
        fmt::format("says it is of job {:.16}, its job file is of job {:.16}", id.job.hex(), prepared.identity.job.hex()));
  }
  const RunContent content = ContentOf(prepared);
  if (HashBytes(content.job) != run.header().job_bin || HashBytes(content.program) != run.header().program_bin) {
    return Refute("job.bin or program.bin is not the encoding of its job");
  }
  return std::nullopt;
}

// The log has exactly the entries of a finished run of the job.
std::optional<Refutation> CheckSchedule(const RunLog& log, const RunDirectory& run, const Job& job) {
  const std::string origin = LogOrigin(run.signer(), run.identity().job);
  if (log.checkpoint().origin != origin) {
    return Refute(fmt::format("the log's origin is {}, expected {}", log.checkpoint().origin, origin));
  }
  const EntryRules rules = EntryRules::Of(job);
  const auto step_of = [&](std::int64_t index) { return StepOfEntry(index, job.commit_every, job.steps); };
  if (const auto wrong = FindWrongEntry(rules, log.entries(), log.trajectory())) {
    return Refute(fmt::format("entry {} of the log {}", wrong->index, wrong->what), step_of(wrong->index));
  }
  const auto found = static_cast<std::int64_t>(log.entries().size());
  if (found == rules.entries()) return std::nullopt;
  return Refute(fmt::format("the log ends after {} of {} entries: step {} is missing", found, rules.entries(), step_of(found)),
                step_of(found));
}

std::optional<Refutation> CheckReceipt(const Receipt& receipt, const RunLog& log, const RunDirectory& run, const Job& job,
                                       const std::optional<Follows>& follows, bool own_job) {
  const RunIdentity& id = run.identity();
  if (receipt.job != id.job) {
    return Refute(fmt::format("the receipt is for another job, {:.16}, not for {:.16}", receipt.job.hex(), id.job.hex()));
  }
  const std::pair<std::string_view, bool> fields[] = {
      {"trajectory", receipt.trajectory == id.trajectory},
      {"program", receipt.program == run.header().program_bin},
      {"data", receipt.data == id.data},
      {"steps", receipt.steps == job.steps},
      {"commit_every", receipt.commit_every == job.commit_every},
      // Not part of the job's identity: a provider may keep more or fewer snapshots than it was asked for.
      {"snapshot_every", !own_job || receipt.snapshot_every == job.snapshot.every},
      {"log", receipt.log == log.checkpoint()},
      {"initial_state_root", receipt.initial_state_root == log.entries().front().state_root},
      {"final_state_root", receipt.final_state_root == log.entries().back().state_root},
      {"loss_bits", receipt.loss_bits == log.entries().back().loss_bits},
      {"follows", receipt.follows == follows},
  };
  for (const auto& [name, holds] : fields) {
    if (!holds) return Refute(fmt::format("the receipt's {} is not that of the run", name));
  }
  return std::nullopt;
}

// The metadata of every snapshot that is kept, against the log; the tensors are checked where a snapshot is used.
Result<std::optional<Refutation>> CheckSnapshots(const RunDirectory& run, const RunLog& log, const Job& job) {
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run.SnapshotSteps());
  for (const std::int64_t step : steps) {
    const std::string path = run.SnapshotPath(step);
    const auto file = Safetensors::Open(path);
    if (!file) return RefuteBy(file.error(), step);
    const auto info = SnapshotInfoOf(*file);
    if (!info) return Refute(info.error().message, step);
    if (info->step != step || info->trajectory != run.identity().trajectory || info->weights_only || step > job.steps) {
      return Refute(fmt::format("{}: is a snapshot of another run or step", path), step);
    }
    if (!IsCommitted(step, job.commit_every, job.steps)) continue;  // of an interrupted process; nothing is claimed about it
    const auto index = static_cast<std::size_t>(EntriesAfter(step, job.commit_every, job.steps) - 1);
    if (info->state_root != log.entries()[index].state_root) {
      return Refute(fmt::format("step {}: the snapshot's state root is {:.16}, the log says {:.16}", step,
                                info->state_root.hex(), log.entries()[index].state_root.hex()),
                    step);
    }
  }
  return std::nullopt;
}

}  // namespace

Result<PreparedJob> PrepareRun(const RunDirectory& run, const std::string& data_path, ThreadPool& pool) {
  ASSAY_ASSIGN(Job job, LoadJob(run.job_path()));
  if (!data_path.empty()) job.data.path = data_path;
  return Prepare(std::move(job), &pool);
}

Result<std::optional<Refutation>> CheckHeader(const RunDirectory& run, const Expectation& expected) {
  const RunIdentity& id = run.identity();
  if (expected.job && id.job != *expected.job) {
    return Refute(
        fmt::format("is a run of job {:.16}, not of the job that was asked for, {:.16}", id.job.hex(), expected.job->hex()));
  }
  if (expected.signer && run.signer() != *expected.signer) {
    return Refute(fmt::format("is signed by {}, not by {}", run.signer().ToString(), expected.signer->ToString()));
  }
  if (const Status fixed = run.CheckFixedFiles(); !fixed) return RefuteBy(fixed.error());
  ASSAY_ASSIGN(const Bytes job, ReadFile(JoinPath(run.path(), "job.bin"), kMaxFixedBytes));
  ASSAY_ASSIGN(const Bytes program, ReadFile(JoinPath(run.path(), "program.bin"), kMaxFixedBytes));
  if (JobId(job, program) != id.job) return Refute("job.bin and program.bin are not those of the job that it names");
  return std::nullopt;
}

Result<ClaimsOrRefutation> CheckClaims(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected) {
  const auto refuted_by = [](const Error& error) -> Result<ClaimsOrRefutation> {
    if (error.system) return tl::unexpected(error);
    return Refutation{.reason = error.message};
  };
  ASSAY_ASSIGN(auto refuted, CheckHeader(run, expected));
  if (!refuted) refuted = CheckIdentity(run, prepared);
  if (refuted) return *std::move(refuted);
  if (!Exists(run.receipt_path())) {
    return Err("{}: has no receipt: its training is not finished (assay train continues it)", run.path());
  }
  const auto file = ReadFile(run.receipt_path(), kMaxReceiptBytes);
  if (!file) return refuted_by(file.error());
  const auto receipt =
      OpenReceipt({reinterpret_cast<const char*>(file->data()), file->size()}, run.signer(), run.receipt_path());
  if (!receipt) return refuted_by(receipt.error());
  const Job& job = prepared.job;
  const auto entries = static_cast<std::uint64_t>(EntriesAfter(job.steps, job.commit_every, job.steps));
  // One entry more than there should be is read, so that it can be named.
  auto log = RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory, entries + 1);
  if (!log) return refuted_by(log.error());
  const auto follows = ReadFollows(run.follows_path());
  if (!follows) return refuted_by(follows.error());
  refuted = CheckSchedule(*log, run, job);
  if (!refuted) refuted = CheckReceipt(*receipt, *log, run, job, *follows, !expected.job);
  if (!refuted) {
    ASSAY_ASSIGN(refuted, CheckSnapshots(run, *log, job));
  }
  if (refuted) return *std::move(refuted);
  return Claims{.log = std::move(*log), .receipt = *receipt, .receipt_hash = HashBytes(*file)};
}

Result<std::optional<Refutation>> CheckWeights(const RunDirectory& run, const PreparedJob& prepared, const Claims& claims,
                                               std::span<const Tensor> state, ThreadPool& pool) {
  const std::int64_t step = prepared.job.steps;
  const LogEntry& last = claims.log.entries().back();
  const auto file = Safetensors::Open(run.weights_path());
  if (!file) return RefuteBy(file.error(), step);
  const auto said = SnapshotInfoOf(*file);
  if (!said) return RefuteBy(said.error(), step);
  const SnapshotInfo info{.weights_only = true,
                          .step = step,
                          .job = prepared.identity.job,
                          .trajectory = prepared.identity.trajectory,
                          .state_root = last.state_root,
                          .loss = std::bit_cast<float>(last.loss_bits),
                          .validation_loss = said->validation_loss};
  const std::vector<TensorRef> weights = WeightsOf(prepared, state);
  if (const auto difference = CompareWeights(*file, weights, info)) {
    auto refuted = Refute(fmt::format("{}: {}", run.weights_path(), difference->what), step);
    refuted->leaf = difference->leaf;
    return refuted;
  }
  if (WeightsRoot(weights, pool) != claims.receipt.weights) {
    return Refute("the receipt's weights root is not that of the weights that the training ended with", step);
  }
  // Last, when its size is known to be that of the model.
  if (HashBytes(file->bytes()) != claims.receipt.model) {
    return Refute(fmt::format("{}: is not the file that the receipt names", run.weights_path()), step);
  }
  return std::nullopt;
}

}  // namespace assay
