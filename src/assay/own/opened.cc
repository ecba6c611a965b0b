#include "assay/own/opened.h"

#include <stdlib.h>

#include <algorithm>

#include "assay/ops/table.h"
#include "assay/run/fsck_signed.h"
#include "assay/train/job_paths.h"

namespace assay::own {
namespace {

namespace fs = std::filesystem;

Status WriteFiles(const OwnershipClaim& claim, const std::string& folder) {
  for (const ClaimedFile& file : claim.files) {
    const fs::path path = fs::path(folder) / file.name;
    std::error_code failed;
    fs::create_directories(path.parent_path(), failed);
    if (failed) return Err("{}: {}", path.parent_path().string(), failed.message());
    ASSAY_TRY(WriteFileAtomic(path.string(), file.bytes));
  }
  return {};
}

std::optional<Refutation> FirstOf(const FsckReport& report, bool Finding::* kind) {
  const auto found = std::ranges::find_if(report.findings, kind);
  if (found == report.findings.end()) return std::nullopt;
  return Refutation{.reason = fmt::format("{}: {}", found->file, found->problem), .damage = found->damage, .step = found->step};
}

Refutation Damaged(std::string reason) { return {.reason = std::move(reason), .damage = true}; }

}  // namespace

Result<Scratch> Scratch::Make() {
  std::error_code failed;
  std::string path = (fs::temp_directory_path(failed) / "assay-claim-XXXXXX").string();
  if (failed || ::mkdtemp(path.data()) == nullptr) return Err("{}: cannot make a folder to unpack a claim in", path);
  return Scratch(std::move(path));
}

Scratch::~Scratch() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<std::variant<OpenedClaim, Refutation>> OpenedClaim::Open(const OwnershipClaim& claim) {
  for (const std::string_view name : {"id", "job.bin", "job.toml", "log/checkpoint", "program.bin", "receipt.json"}) {
    if (claim.Find(name) == nullptr) return Damaged(fmt::format("{}: is missing", name));
  }
  ASSAY_ASSIGN(Scratch scratch, Scratch::Make());
  ASSAY_TRY(WriteFiles(claim, scratch.path()));
  ASSAY_ASSIGN(FsckFiles files, FsckFiles::List(scratch.path()));
  FsckSigned checked(files);
  checked.Check();
  const FsckReport report = files.Report(true);
  if (auto lie = FirstOf(report, &Finding::refutes)) return *std::move(lie);
  if (auto damage = FirstOf(report, &Finding::damage)) return *std::move(damage);
  auto claims = checked.claims();
  if (!claims) return Damaged("receipt, log and job do not belong together");
  auto run = RunDirectory::Open(scratch.path());
  if (!run) return Damaged(run.error().message);
  // Ends are in ascending order. So there are never more of them than steps.
  if (!claim.stretches.empty() && claim.stretches.back().steps.end > claims->receipt.steps) {
    return Damaged(fmt::format("it shows steps {} to {} of a run of {}", claim.stretches.back().steps.begin + 1,
                               claim.stretches.back().steps.end, claims->receipt.steps));
  }
  for (const Stretch& stretch : claim.stretches) {
    if (IsSegment(stretch.steps, claims->receipt.steps, claims->receipt.snapshot_every)) continue;
    return Damaged(fmt::format("it shows steps {} to {}, which are no stretch between two snapshots of the run",
                               stretch.steps.begin + 1, stretch.steps.end));
  }
  const ByteSpan encoded = claim.Find("job.bin")->bytes;
  auto job = DecodeJob(encoded);
  if (!job) return Damaged(job.error().message);
  auto program = DecodeProgram(Ops(), claim.Find("program.bin")->bytes);
  if (!program) return Damaged(program.error().message);
  const ByteSpan note = claim.Find("log/checkpoint")->bytes;
  return OpenedClaim(std::move(scratch), std::move(*run), std::move(*claims), std::move(*job), std::move(*program),
                     std::string(note.begin(), note.end()));
}

Result<PreparedJob> OpenedClaim::Prepare(const std::string& data_path, ThreadPool& pool) const {
  ASSAY_ASSIGN(Job job, LoadRunJob(run_, data_path));
  const bool from_file = std::exchange(job.init_weights, {}) != "";
  if (from_file != job_.inputs.weights.has_value()) return Err("job.toml: starts from other weights than job.bin");
  if (data_path.empty() && !job.data.path.empty() && !Exists(job.data.path))
    return Err("a claim does not hold the data that its run was trained on, and {} is not here; name it with --data PATH",
               job.data.path);
  ASSAY_TRY(CheckFilesOf(run_, job, data_path));
  job.file.clear();
  ASSAY_ASSIGN(PreparedJob prepared, assay::Prepare(std::move(job), &pool));
  if (prepared.data.root != job_.inputs.data) {
    return Err(
        "the data here is not the data that the claim is about: its root is {:.16}, the claim's {:.16}; name that data with "
        "--data PATH",
        prepared.data.root.hex(), job_.inputs.data.hex());
  }
  prepared.inputs = job_.inputs;
  prepared.identity = run_.identity();
  if (JobId(prepared.job, prepared.inputs, prepared.program) != prepared.identity.job)
    return Err("job.toml: is of another job than job.bin, or this version makes another program of it");
  return prepared;
}

}  // namespace assay::own
