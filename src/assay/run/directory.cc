#include "assay/run/directory.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace assay {
namespace {

constexpr std::string_view kIdFile = "id";
constexpr std::string_view kLockFile = "lock";
constexpr std::string_view kSnapshotPrefix = "step-";
constexpr std::string_view kSnapshotSuffix = ".safetensors";
constexpr std::uint64_t kMaxIdBytes = 4096;

Result<RunIdentity> ReadId(const std::string& directory) {
  const std::string path = JoinPath(directory, kIdFile);
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(path, kMaxIdBytes));
  return ParseRunIdentity({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

Status WriteIfDifferent(const std::string& path, ByteSpan content) {
  if (Exists(path)) {
    const auto old = ReadFile(path, content.size());
    if (old && std::equal(old->begin(), old->end(), content.begin(), content.end())) return {};
  }
  return WriteFileAtomic(path, content);
}

std::optional<std::int64_t> SnapshotStep(std::string_view name) {
  if (!name.starts_with(kSnapshotPrefix) || !name.ends_with(kSnapshotSuffix)) return std::nullopt;
  name.remove_prefix(kSnapshotPrefix.size());
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
  RunDirectory run(path);
  ASSAY_ASSIGN(run.identity_, ReadId(path));
  return run;
}

Result<RunDirectory> RunDirectory::OpenForTraining(const std::string& path, const RunContent& content) {
  if (Exists(path) && !IsDirectory(path)) return Err("{}: is not a directory, expected one for the run", path);
  ASSAY_TRY(MakeDirectories(path));
  if (!IsRun(path)) ASSAY_TRY(CheckFree(path));
  RunDirectory run(path);
  ASSAY_ASSIGN(run.lock_, FileLock::TryAcquire(JoinPath(path, kLockFile)));
  if (!run.lock_) return Err("{}: another process is training in this directory", path);
  if (IsRun(path)) {
    ASSAY_ASSIGN(const RunIdentity existing, ReadId(path));
    if (existing.trajectory != content.identity.trajectory) {
      return Err("{}: holds a run of another job ({:.12}), not of this one ({:.12}); choose another --out directory", path,
                 existing.job.hex(), content.identity.job.hex());
    }
  }
  ASSAY_TRY(run.RemoveTemporaries());
  ASSAY_TRY(run.Create(content));
  return run;
}

Status RunDirectory::Create(const RunContent& content) {
  identity_ = content.identity;
  ASSAY_TRY(WriteIfDifferent(job_path(), AsBytes(content.job_toml)));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, "job.bin"), content.job));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, "program.bin"), content.program));
  ASSAY_TRY(WriteIfDifferent(JoinPath(path_, kIdFile), AsBytes(Encode(identity_))));
  ASSAY_TRY(MakeDirectories(JoinPath(path_, "snapshots")));
  return MakeDirectories(events_path());
}

Status RunDirectory::RemoveTemporaries() const {
  for (const std::string& directory : {path_, JoinPath(path_, "snapshots")}) {
    if (!IsDirectory(directory)) continue;
    ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
    for (const std::string& name : names) {
      if (IsTemporaryName(name)) ASSAY_TRY(RemoveFile(JoinPath(directory, name)));
    }
  }
  return {};
}

std::string RunDirectory::SnapshotPath(std::int64_t step) const {
  return JoinPath(JoinPath(path_, "snapshots"), fmt::format("{}{:010}{}", kSnapshotPrefix, step, kSnapshotSuffix));
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
                                                             const std::function<void(const std::string&)>& note) const {
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, SnapshotSteps());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    if (*step > max_step) continue;
    const std::string path = SnapshotPath(*step);
    auto snapshot = ReadSnapshot(path, specs, pool);
    if (!snapshot) {
      note(fmt::format("{}; passing over this snapshot", snapshot.error().message));
    } else if (snapshot->info.step != *step || snapshot->info.trajectory != identity_.trajectory) {
      note(fmt::format("{}: is a snapshot of another run or step; passing over it", path));
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
