#include "assay/run/directory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kIdFile = "id";
constexpr std::string_view kLockFile = "lock";
constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kSnapshotSuffix = ".safetensors";
constexpr std::uint64_t kMaxIdBytes = 4096;
constexpr std::uint64_t kMaxFixedBytes = std::uint64_t{1} << 30;

Result<RunHeader> ReadId(const std::string& directory) {
  const std::string path = JoinPath(directory, kIdFile);
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxIdBytes));
  return ParseRunHeader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

RunHeader HeaderOf(const RunContent& content, const VerifyKey& signer) {
  return {.identity = content.identity,
          .signer = signer,
          .job_toml = HashBytes(AsBytes(content.job_toml)),
          .job_bin = HashBytes(content.job),
          .program_bin = HashBytes(content.program)};
}

std::string StepName(std::int64_t step, std::string_view suffix) {
  return fmt::format("{}{:010}{}", kStepPrefix, step, suffix);
}

std::optional<std::int64_t> SnapshotStep(std::string_view name) {
  if (!name.starts_with(kStepPrefix) || !name.ends_with(kSnapshotSuffix)) return std::nullopt;
  name.remove_prefix(kStepPrefix.size());
  name.remove_suffix(kSnapshotSuffix.size());
  std::int64_t step = 0;
  const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (failure != std::errc{} || end != name.data() + name.size() || fmt::format("{:010}", step) != name) return std::nullopt;
  return step;
}

// A directory without an id may be taken when it is empty or holds only what an interrupted creation leaves.
Status CheckFree(const std::string& path) {
  static constexpr std::array<std::string_view, 4> kOurs = {kLockFile, "job.toml", "job.bin", "program.bin"};
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    if (IsTemporaryName(name) || std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end()) continue;
    return Err("{}: holds '{}' but no run; choose a new or empty directory", path, name);
  }
  return {};
}

}  // namespace

bool RunDirectory::IsRun(const std::string& path) { return Exists(JoinPath(path, kIdFile)); }

Result<RunDirectory> RunDirectory::Open(const std::string& path) {
  if (!IsDirectory(path)) return Err("{}: no such run directory", path);
  if (!IsRun(path)) return Err("{}: is not a run directory (it has no file '{}')", path, kIdFile);
  ASSAY_ASSIGN(RunHeader header, ReadId(path));
  return RunDirectory(path, std::move(header));
}

Result<RunDirectory> RunDirectory::OpenForTraining(const std::string& path, const RunContent& content,
                                                   const VerifyKey& signer) {
  if (Exists(path) && !IsDirectory(path)) return Err("{}: is not a directory, expected one for the run", path);
  ASSAY_TRY(MakeDirectories(path));
  if (!IsRun(path)) ASSAY_TRY(CheckFree(path));
  RunDirectory run(path, HeaderOf(content, signer));
  ASSAY_ASSIGN(run.lock_, FileLock::TryAcquire(JoinPath(path, kLockFile)));
  if (!run.lock_) return Err("{}: another process is training in this directory", path);
  if (IsRun(path)) {
    ASSAY_ASSIGN(const RunHeader existing, ReadId(path));
    if (existing.identity.trajectory != content.identity.trajectory) {
      return Err("{}: holds a run of another job ({:.12}), not of this one ({:.12}); choose another --out directory", path,
                 existing.identity.job.hex(), content.identity.job.hex());
    }
    if (existing.signer != signer) {
      return Err("{}: is signed by {}, not by {}; continue it with that key (--key) or choose another --out directory", path,
                 existing.signer.id(), signer.id());
    }
    if (existing.identity.job != content.identity.job && Exists(run.receipt_path())) {
      ASSAY_TRY(RemoveFileDurably(run.receipt_path()));
    }
  }
  ASSAY_TRY(run.RemoveTemporaries());
  ASSAY_TRY(run.Create(content));
  return run;
}

Status RunDirectory::Create(const RunContent& content) {
  ASSAY_TRY(WriteIfDifferent(job_path(), AsBytes(content.job_toml)));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, "job.bin"), content.job));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, "program.bin"), content.program));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, kIdFile), AsBytes(Encode(header_))));
  ASSAY_TRY(MakeDirectories(JoinPath(path_, "snapshots")));
  return MakeDirectories(events_path());
}

Status RunDirectory::RemoveTemporaries() const {
  for (const std::string& directory : {path_, JoinPath(path_, "snapshots"), JoinPath(path_, "traces"), log_path()}) {
    if (!IsDirectory(directory)) continue;
    ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
    for (const std::string& name : names) {
      if (IsTemporaryName(name)) ASSAY_TRY(RemoveFile(JoinPath(directory, name)));
    }
  }
  return {};
}

std::string RunDirectory::SnapshotPath(std::int64_t step) const {
  return JoinPath(JoinPath(path_, "snapshots"), StepName(step, kSnapshotSuffix));
}

std::string RunDirectory::TracePath(std::int64_t step) const {
  return JoinPath(JoinPath(path_, "traces"), StepName(step, ".trace"));
}

Status RunDirectory::CheckFixedFiles() const {
  const std::pair<std::string_view, const Digest&> files[] = {
      {"job.toml", header_.job_toml}, {"job.bin", header_.job_bin}, {"program.bin", header_.program_bin}};
  for (const auto& [name, digest] : files) {
    const std::string file = JoinPath(path_, name);
    ASSAY_ASSIGN(const Bytes bytes, ReadFile(file, kMaxFixedBytes));
    if (HashBytes(bytes) != digest) return Err("{}: is not the file that '{}' names", file, kIdFile);
  }
  return {};
}

Result<std::vector<std::int64_t>> RunDirectory::SnapshotSteps() const {
  std::vector<std::int64_t> steps;
  const std::string directory = JoinPath(path_, "snapshots");
  if (!IsDirectory(directory)) return steps;
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    if (const auto step = SnapshotStep(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Result<std::optional<Snapshot>> RunDirectory::NewestSnapshot(std::span<const StateSpec> specs, std::int64_t max_step,
                                                             ThreadPool& pool,
                                                             const std::function<Status(const SnapshotInfo&)>& accept,
                                                             const std::function<void(const std::string&)>& note) const {
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, SnapshotSteps());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (*step > max_step) continue;
    const std::string path = SnapshotPath(*step);
    auto snapshot = ReadSnapshot(path, specs, pool);
    if (!snapshot) {
      note(fmt::format("{}; passing over this snapshot", snapshot.error().message));
    } else if (snapshot->info.step != *step || snapshot->info.trajectory != identity().trajectory) {
      note(fmt::format("{}: is a snapshot of another run or step; passing over it", path));
    } else if (const Status accepted = accept ? accept(snapshot->info) : Status(); !accepted) {
      note(fmt::format("{}: {}; passing over this snapshot", path, accepted.error().message));
    } else {
      return std::move(*snapshot);
    }
  }
  return std::nullopt;
}

Status RunDirectory::Prune(std::int64_t step, std::int64_t keep) const {
  if (keep <= 0) return {};
  ASSAY_ASSIGN(std::vector<std::int64_t> steps, SnapshotSteps());
  std::erase_if(steps, [&](std::int64_t s) { return s > step; });
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < steps.size(); ++i) {
    ASSAY_TRY(RemoveFile(SnapshotPath(steps[i])));
  }
  return {};
}

}  // namespace assay
