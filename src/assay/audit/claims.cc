#include "assay/audit/claims.h"

#include <algorithm>
#include <bit>

#include "assay/merkle/tree.h"
#include "assay/run/weights_root.h"
#include "assay/train/job_paths.h"
#include "assay/train/trace.h"
#include "assay/train/weights.h"

namespace assay {
namespace {

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
  ASSAY_TRY(CheckFilesOf(run, job, data_path));
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
  if (expected.signer && run.signer().point() != expected.signer->point()) {  // a key may have several names
    return Refute(fmt::format("is signed by {}, not by {}", run.signer().ToString(), expected.signer->ToString()));
  }
  return std::nullopt;
}

Result<std::optional<Refutation>> CheckOwnJob(const RunDirectory& run) {
  if (const Status fixed = run.CheckFixedFiles(); !fixed) return DamagedBy(fixed.error());
  ASSAY_ASSIGN(const Bytes job, ReadFile(JoinPath(run.path(), "job.bin"), kMaxFixedBytes));
  ASSAY_ASSIGN(const Bytes program, ReadFile(JoinPath(run.path(), "program.bin"), kMaxFixedBytes));
  if (JobId(job, program) != run.identity().job)
    return Damaged("job.bin and program.bin are not those of the job that id names");
  return std::nullopt;
}

Result<std::optional<Refutation>> CheckAsked(const RunDirectory& run, const PreparedJob& prepared,
                                             const Expectation& expected) {
  ASSAY_ASSIGN(auto refuted, CheckHeader(run, expected));
  if (refuted) return refuted;
  return CheckIdentity(run, prepared);
}

Result<RunFaults> FindFaults(const RunDirectory& run, ThreadPool& pool) {
  ASSAY_ASSIGN(FsckReport report, Fsck(run.path(), pool, SummarizeTrace));
  const auto first = [&](bool Finding::* kind) -> std::optional<Refutation> {
    const auto found = std::ranges::find_if(report.findings, kind);
    if (found == report.findings.end()) return std::nullopt;
    return Refutation{.reason = fmt::format("{}: {}", JoinPath(run.path(), found->file), found->problem),
                      .damage = found->damage,
                      .step = found->step};
  };
  RunFaults faults{.lie = first(&Finding::refutes), .damage = first(&Finding::damage)};
  faults.claims = std::move(report.claims);
  faults.of_snapshot = std::ranges::any_of(
      report.findings, [](const Finding& finding) { return finding.refutes && finding.file.starts_with("snapshots/"); });
  if (!faults.lie && !faults.damage && !faults.claims) {
    return Err("{}: has no receipt: its training is not finished (assay resume continues it)", run.path());
  }
  return faults;
}

Result<ClaimsOrRefutation> CheckClaims(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected,
                                       ThreadPool& pool) {
  ASSAY_ASSIGN(auto refuted, CheckAsked(run, prepared, expected));
  if (refuted) return *std::move(refuted);
  ASSAY_ASSIGN(RunFaults faults, FindFaults(run, pool));
  const bool is_told = faults.lie && (faults.of_snapshot || !faults.claims);
  if (is_told) return *std::move(faults.lie);
  if (!faults.claims) return *std::move(faults.damage);
  return Claims{.log = std::move(faults.claims->log),
                .receipt = std::move(faults.claims->receipt),
                .receipt_hash = faults.claims->receipt_hash,
                .lie = std::move(faults.lie),
                .damage = std::move(faults.damage)};
}

Result<std::optional<Refutation>> CheckWeights(const RunDirectory& run, const PreparedJob& prepared, const Claims& claims,
                                               std::span<const Tensor> state, ThreadPool& pool) {
  const std::int64_t step = prepared.job.steps;
  const LogEntry& last = claims.log.entries().back();
  const std::vector<TensorRef> weights = WeightsOf(prepared, state);
  const SnapshotInfo info{.weights_only = true,
                          .step = step,
                          .job = prepared.identity.job,
                          .trajectory = prepared.identity.trajectory,
                          .state_root = last.state_root,
                          .loss = std::bit_cast<float>(last.loss_bits),
                          .validation_loss = {}};
  const Digest right = WeightsRoot(weights, pool);
  const auto file = Safetensors::Open(run.weights_path());
  Result<std::optional<Refutation>> fault =
      file ? DeliveredFault(*file, weights, right, info, claims.receipt, pool) : DamagedBy(file.error(), step);
  // False whatever file lies here; a false file that was signed for shows more.
  const bool is_told = fault && *fault && !(*fault)->damage;
  if (claims.receipt.weights != right && !is_told) {
    return Refute("the receipt's weights root is not that of the weights that the training ended with", step);
  }
  return fault;
}

}  // namespace assay
