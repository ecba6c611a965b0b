#include "assay/train/claims.h"

#include <algorithm>

#include "assay/merkle/tree.h"
#include "assay/model/import.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

std::optional<Refutation> Refute(std::string reason, std::optional<std::int64_t> step = std::nullopt) {
  return Refutation{.reason = std::move(reason), .step = step};
}

std::optional<Refutation> CheckIdentity(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected) {
  if (const Status fixed = run.CheckFixedFiles(); !fixed) return Refute(fixed.error().message);
  const RunIdentity& id = run.identity();
  if (expected.job && id.job != *expected.job) {
    return Refute(
        fmt::format("is a run of job {:.16}, not of the job that was asked for, {:.16}", id.job.hex(), expected.job->hex()));
  }
  if (expected.signer && run.signer() != *expected.signer) {
    return Refute(fmt::format("is signed by {}, not by {}", run.signer().ToString(), expected.signer->ToString()));
  }
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
  const std::int64_t expected = EntriesAfter(job.steps, job.commit_every, job.steps);
  const auto found = static_cast<std::int64_t>(log.entries().size());
  for (std::int64_t i = 0; i < std::min(expected, found); ++i) {
    const std::int64_t step = StepOfEntry(i, job.commit_every, job.steps);
    const std::int64_t said = log.entries()[static_cast<std::size_t>(i)].step;
    if (said != step)
      return Refute(fmt::format("entry {} of the log is of step {}, the job commits step {} there", i, said, step), step);
  }
  if (found < expected) {
    const std::int64_t step = StepOfEntry(found, job.commit_every, job.steps);
    return Refute(fmt::format("the log ends after {} of {} entries: step {} is missing", found, expected, step), step);
  }
  if (found > expected) return Refute(fmt::format("the log has {} entries, the job commits {}", found, expected), job.steps);
  return std::nullopt;
}

std::optional<Refutation> CheckReceipt(const Receipt& receipt, const RunLog& log, const RunDirectory& run, const Job& job) {
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
      {"snapshot_every", receipt.snapshot_every == job.snapshot.every},
      {"log", receipt.log == log.checkpoint()},
      {"initial_state_root", receipt.initial_state_root == log.entries().front().state_root},
      {"final_state_root", receipt.final_state_root == log.entries().back().state_root},
      {"loss_bits", receipt.loss_bits == log.entries().back().loss_bits},
  };
  for (const auto& [name, holds] : fields) {
    if (!holds) return Refute(fmt::format("the receipt's {} is not that of the run", name));
  }
  return std::nullopt;
}

// The metadata of every snapshot that is kept, against the log; the tensors are checked where a snapshot is used.
std::optional<Refutation> CheckSnapshots(const RunDirectory& run, const RunLog& log, const Job& job) {
  const auto steps = run.SnapshotSteps();
  if (!steps) return Refute(steps.error().message);
  for (const std::int64_t step : *steps) {
    const std::string path = run.SnapshotPath(step);
    const auto file = Safetensors::Open(path);
    if (!file) return Refute(file.error().message, step);
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

Result<ClaimsOrRefutation> CheckClaims(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected,
                                       ThreadPool&) {
  if (auto refuted = CheckIdentity(run, prepared, expected)) return *std::move(refuted);
  if (!Exists(run.receipt_path())) {
    return Err("{}: has no receipt: its training is not finished (assay train continues it)", run.path());
  }
  ASSAY_ASSIGN(const Bytes file, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  const auto receipt = OpenReceipt({reinterpret_cast<const char*>(file.data()), file.size()}, run.signer(), run.receipt_path());
  if (!receipt) return Refutation{.reason = receipt.error().message};
  auto log = RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory);
  if (!log) return Refutation{.reason = log.error().message};
  if (auto refuted = CheckSchedule(*log, run, prepared.job)) return *std::move(refuted);
  if (auto refuted = CheckReceipt(*receipt, *log, run, prepared.job)) return *std::move(refuted);
  if (auto refuted = CheckSnapshots(run, *log, prepared.job)) return *std::move(refuted);
  const auto weights = MappedFile::Open(run.weights_path());
  if (!weights) return Refutation{.reason = weights.error().message};
  if (HashBytes(weights->bytes()) != receipt->model) {
    return Refutation{.reason = fmt::format("{}: is not the file that the receipt names", run.weights_path())};
  }
  return Claims{.log = std::move(*log), .receipt = *receipt, .receipt_hash = HashBytes(file)};
}

std::optional<Refutation> CheckWeights(const RunDirectory& run, const PreparedJob& prepared, std::span<const Tensor> state) {
  const std::string path = run.weights_path();
  const auto file = Safetensors::Open(path);
  if (!file) return Refute(file.error().message, prepared.job.steps);
  const std::vector<StateSpec> model = ModelState(prepared.job.model);
  if (file->tensors().size() != model.size()) {
    return Refute(fmt::format("{}: has {} tensors, the model has {}", path, file->tensors().size(), model.size()),
                  prepared.job.steps);
  }
  std::size_t at = 0;
  for (const StateSpec& spec : model) {  // both lists are in name order, and the model's tensors are among the state's
    while (prepared.program.state[at].name != spec.name) ++at;
    const StoredTensor* stored = file->Find(spec.name);
    if (stored == nullptr) return Refute(fmt::format("{}: has no tensor {}", path, spec.name), prepared.job.steps);
    const ByteSpan truth = state[at].bytes();
    if (stored->shape != spec.type.shape || stored->data.size() != truth.size()) {
      return Refute(fmt::format("{}: {} is not of the model's shape", path, spec.name), prepared.job.steps);
    }
    const auto [mine, theirs] = std::ranges::mismatch(truth, stored->data);
    if (mine == truth.end()) continue;
    auto refuted = Refute(fmt::format("{}: {} is not what the training ended with", path, spec.name), prepared.job.steps);
    refuted->leaf = static_cast<std::int64_t>(static_cast<std::size_t>(mine - truth.begin()) / kLeafBytes);
    return refuted;
  }
  return std::nullopt;
}

}  // namespace assay
