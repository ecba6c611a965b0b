#include "assay/run/directory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "assay/run/steps_done.h"

namespace assay {
namespace {

constexpr std::string_view kIdFile = "id";
constexpr std::string_view kNextIdFile = "id.next";
constexpr std::string_view kLockFile = "lock";
constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kSnapshotSuffix = ".safetensors";
constexpr std::string_view kTraceSuffix = ".trace";
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

std::optional<std::int64_t> StepIn(std::string_view name, std::string_view suffix) {
  std::int64_t step = 0;
  std::string_view digits = name;
  digits.remove_prefix(std::min(kStepPrefix.size(), digits.size()));
  std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return step >= 0 && StepName(step, suffix) == name ? std::optional(step) : std::nullopt;
}

// A directory without an id may be taken when it is empty or holds only what an interrupted creation leaves.
Status CheckFree(const std::string& path) {
  static constexpr std::array<std::string_view, 5> kOurs = {kLockFile, kNextIdFile, "job.toml", "job.bin", "program.bin"};
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    if (IsTemporaryName(name) || std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end()) continue;
    return Err("{}: holds '{}' but no run; choose a new or empty directory", path, name);
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> SnapshotStep(std::string_view name) { return StepIn(name, kSnapshotSuffix); }
std::optional<std::int64_t> TraceStepOf(std::string_view name) { return StepIn(name, kTraceSuffix); }

bool RunDirectory::IsRun(const std::string& path) { return Exists(JoinPath(path, kIdFile)); }

bool RunDirectory::HasRemains(const std::string& path) {
  const auto holds = [&](std::string_view folder) {
    const auto names = ListDirectory(JoinPath(path, folder));
    return names && !names->empty();
  };
  return IsTaken(JoinPath(path, "receipt.json")) || holds("log") || holds("snapshots") || holds("events");
}

Status RunDirectory::CheckIsDirectory(const std::string& path) {
  if (IsDirectory(path)) return {};
  if (Exists(path)) return Err("{}: is a file, expected a run directory", path);
  return Err("{}: no such run directory", path);
}

Result<RunDirectory> RunDirectory::Open(const std::string& path) {
  ASSAY_TRY(CheckIsDirectory(path));
  if (!IsRun(path) && HasRemains(path)) {
    return Err("{}: is missing, so that nothing tells whose run of which job this is", JoinPath(path, kIdFile));
  }
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
  if (!run.lock_) return Err("{}: another process is training in this directory or checking it", path);
  ASSAY_TRY(CheckPlainTree(path));
  std::optional<RunHeader> before;
  if (IsRun(path)) {
    ASSAY_ASSIGN(before, ReadId(path));
    if (before->identity.trajectory != content.identity.trajectory) {
      const bool other_data = before->identity.data != content.identity.data;
      return Err(
          "{}: holds a run of another job ({:.12}), not of this one ({:.12}){}; assay diff shows how they differ; train into "
          "another directory",
          path, before->identity.job.hex(), content.identity.job.hex(), other_data ? ", and of other data" : "");
    }
    if (before->signer != signer) {
      return Err("{}: is signed by {}, not by {}; continue it with that key (--key) or train into another directory", path,
                 before->signer.id(), signer.id());
    }
    ASSAY_TRY(RunDirectory(path, *before).CheckNotCutBack(content));
  }
  ASSAY_TRY(run.RemoveTemporaries());
  ASSAY_TRY(SyncTree(path));
  if (before) ASSAY_TRY(run.RemoveOutdated(*before));
  ASSAY_TRY(run.Establish(content, before));
  return run;
}

Status RunDirectory::CheckNotCutBack(const RunContent& content) const {
  if (identity().job == content.identity.job) return {};
  ASSAY_ASSIGN(const std::int64_t done, StepsDone(*this));
  if (done <= content.steps) return {};
  return Err(
      "{}: has {} steps{} already, and {} were asked for; ask for {} or more (--steps) to continue it, or train into another "
      "directory",
      path_, done, Exists(receipt_path()) ? " and a receipt for them" : "", content.steps, done);
}

// A receipt goes before anything changes that it speaks of; the weights that it commits to are of no use without it.
Status RunDirectory::RemoveOutdated(const RunHeader& before) const {
  if (before != header_ && Exists(receipt_path())) ASSAY_TRY(RemoveFileDurably(receipt_path()));
  if (before.identity.job != header_.identity.job && Exists(weights_path())) ASSAY_TRY(RemoveFileDurably(weights_path()));
  return {};
}

// At every moment each of the fixed files is absent, or one that `id` or `id.next` names.
Status RunDirectory::Establish(const RunContent& content, const std::optional<RunHeader>& before) const {
  const std::string id = JoinPath(path_, kIdFile), next = JoinPath(path_, kNextIdFile);
  const bool changes = before != header_;
  if (changes) {
    ASSAY_TRY(RemoveStrangers(before));
    ASSAY_TRY(WriteIfDifferent(next, AsBytes(Encode(header_))));
  }
  ASSAY_TRY(WriteIfDifferent(job_path(), AsBytes(content.job_toml)));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, "job.bin"), content.job));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, "program.bin"), content.program));
  if (changes) {
    ASSAY_TRY(RenameDurably(next, id));
  } else if (Exists(next)) {
    ASSAY_TRY(RemoveFileDurably(next));
  }
  ASSAY_TRY(MakeDirectories(JoinPath(path_, "snapshots")));
  return MakeDirectories(events_path());
}

// Removes fixed files that neither `before` nor the header to come names: what an earlier change left that did not come to its end.
Status RunDirectory::RemoveStrangers(const std::optional<RunHeader>& before) const {
  const auto files = FixedFiles(header_);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string file = JoinPath(path_, files[i].name);
    if (!Exists(file)) continue;
    ASSAY_ASSIGN(const Bytes bytes, ReadFile(file, kMaxFixedBytes));
    const Digest digest = HashBytes(bytes);
    if (digest != files[i].digest && (!before || digest != FixedFiles(*before)[i].digest)) ASSAY_TRY(RemoveFileDurably(file));
  }
  return {};
}

Status RunDirectory::RemoveTemporaries() const {
  ASSAY_ASSIGN(const std::vector<std::string> files, ListTree(path_));
  for (const std::string& file : files) {
    if (IsTemporaryName(std::string_view(file).substr(file.rfind('/') + 1))) ASSAY_TRY(RemoveFile(JoinPath(path_, file)));
  }
  return {};
}

std::string RunDirectory::SnapshotPath(std::int64_t step) const {
  return JoinPath(JoinPath(path_, "snapshots"), StepName(step, kSnapshotSuffix));
}

std::string RunDirectory::TracePath(std::int64_t step) const {
  return JoinPath(JoinPath(path_, "traces"), StepName(step, kTraceSuffix));
}

Status RunDirectory::CheckFixedFiles() const {
  for (const auto& [name, digest] : FixedFiles(header_)) {
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
    if (const auto step = SnapshotStep(name); step && IsPlainFile(JoinPath(directory, name))) steps.push_back(*step);
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
    if (!snapshot && snapshot.error().system) return tl::unexpected(snapshot.error());
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

Status RunDirectory::RemoveSnapshotsAfter(std::int64_t step) const {
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, SnapshotSteps());
  for (const std::int64_t s : steps) {
    if (s > step) ASSAY_TRY(RemoveFileDurably(SnapshotPath(s)));
  }
  return {};
}

}  // namespace assay
