#include "assay/run/fsck.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "assay/base/file.h"
#include "assay/graph/program.h"
#include "assay/job/job.h"
#include "assay/merkle/tiles.h"
#include "assay/ops/table.h"
#include "assay/run/directory.h"
#include "assay/run/entry_rules.h"
#include "assay/run/events.h"
#include "assay/run/follows.h"
#include "assay/run/fsck_files.h"
#include "assay/run/fsck_tensors.h"
#include "assay/run/log.h"
#include "assay/run/receipt.h"
#include "assay/run/rounding_logs.h"
#include "assay/run/snapshot_fit.h"
#include "assay/run/weights_root.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxSmallFile = 1 << 16;
constexpr std::uint64_t kMaxFixedFile = std::uint64_t{1} << 30;
constexpr std::string_view kLeftover = "left by an interrupted write; training removes it";

std::string_view AsText(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The identity of the weights that a job starts from, which nothing but its encoding (docs/JOBS.md) tells.
std::optional<Digest> WeightsIn(ByteSpan job_bin) {
  ByteReader in(job_bin, "job.bin");
  if (!in.Raw(12) || !in.String() || !in.Raw(32)) return std::nullopt;
  const auto given = in.U8();
  const auto bytes = given && *given == 1 ? in.Raw(32) : Err("none");
  if (!bytes) return std::nullopt;
  Digest digest;
  std::copy(bytes->begin(), bytes->end(), digest.bytes.begin());
  return digest;
}

class RunCheck {
 public:
  RunCheck(FsckFiles files, ThreadPool& pool, const TraceReader& read_trace)
      : files_(std::move(files)), pool_(pool), read_trace_(read_trace) {}

  FsckReport Run() {
    has_receipt_ = files_.Has("receipt.json") || IsDirectory(Path("receipt.json"));
    CheckLock();
    const bool identified = CheckId();
    if (identified) {
      CheckFixedFiles();
      CheckLog();
      CheckSnapshots();
      CheckEvents();
      CheckTraces();
      CheckRounding();
      CheckFollows();
      CheckWeights();
      CheckReceipt();
    }
    NameTheRest(identified);
    return files_.Report(has_receipt_);
  }

 private:
  std::string Path(std::string_view file) const { return files_.Path(file); }
  void Damage(std::string_view file, std::string_view problem) { files_.Damage(file, problem); }
  void DamageFrom(const Error& error, std::string_view file) { files_.DamageFrom(error, file); }
  void Note(std::string_view file, std::string_view problem) { files_.Note(file, problem); }
  bool Take(const std::string& file) { return files_.Take(file); }

  void CheckLock() {
    if (!Take("lock")) return;
    const auto bytes = ReadFile(Path("lock"), kMaxSmallFile);
    if (!bytes || !bytes->empty()) Damage("lock", "is not empty");
  }

  // Whether the run says what it is; without that, nothing can be told about the rest.
  bool CheckId() {
    if (Take("id.next")) next_ = ReadHeader("id.next");
    if (Take("id")) {
      header_ = ReadHeader("id");
      if (next_ && header_ &&
          (next_->identity.trajectory != header_->identity.trajectory || next_->signer != header_->signer)) {
        Damage("id.next", "is of another job or signer than id");
      } else if (next_) {
        Note("id.next", "left by an interrupted change of the job; training completes it or takes it back");
      }
      return header_.has_value();
    }
    const auto created = [](const std::string& file) {
      return IsTemporaryName(file) || file == "job.toml" || file == "job.bin" || file == "program.bin";
    };
    if (std::ranges::all_of(files_.rest(), created)) {
      Note("id", "is not there yet: the creation of the run was interrupted");
      files_.TakeAll("");
    } else {
      Damage("id", "is missing");
    }
    return false;
  }

  std::optional<RunHeader> ReadHeader(const std::string& file) {
    const auto bytes = ReadFile(Path(file), kMaxSmallFile);
    auto header = bytes ? ParseRunHeader(AsText(*bytes), Path(file)) : tl::unexpected(bytes.error());
    if (header) return std::move(*header);
    DamageFrom(header.error(), file);
    return std::nullopt;
  }

  void CheckFixedFiles() {
    const auto files = FixedFiles(*header_);
    std::array<Bytes, 3> contents;
    settled_ = true;
    for (std::size_t i = 0; i < files.size(); ++i) settled_ = CheckFixedFile(i, contents[i]) && settled_;
    if (!contents[0].empty()) {
      auto job = ParseJob(AsText(contents[0]), Path("job.toml"));
      if (job) {
        job_ = std::move(*job);
      } else {
        DamageFrom(job.error(), "job.toml");
      }
    }
    if (!contents[2].empty()) {
      auto program = DecodeProgram(Ops(), contents[2]);
      if (program) {
        program_ = std::move(*program);
      } else {
        Damage("program.bin", program.error().message);
      }
    }
    if (settled_ && job_ && program_) CheckIdentity(contents[1], contents[2]);
  }

  // Whether the file is the one that `id` names. `content` is set where it can be believed.
  bool CheckFixedFile(std::size_t index, Bytes& content) {
    const FixedFile expected = FixedFiles(*header_)[index];
    const bool changing = next_ && !has_receipt_;
    const std::string name(expected.name);
    if (!Take(name)) {
      if (!changing) Damage(name, "is missing");
      return false;
    }
    auto bytes = ReadFile(Path(name), kMaxFixedFile);
    if (!bytes) {
      DamageFrom(bytes.error(), name);
      return false;
    }
    const Digest digest = HashBytes(*bytes);
    const bool ours = digest == expected.digest;
    if (!ours && !(changing && digest == FixedFiles(*next_)[index].digest)) {
      Damage(name, "is not the file that 'id' names");
      return false;
    }
    content = std::move(*bytes);
    return ours;
  }

  void CheckIdentity(const Bytes& job_bin, const Bytes& program_bin) {
    ByteWriter both;
    both.Blob(job_bin);
    both.Blob(program_bin);
    const RunIdentity& id = header_->identity;
    const Digest job = HashBytes(both.bytes());
    if (job != id.job)
      Damage("id", fmt::format("says job {}, but job.bin and program.bin make it {}", id.job.hex(), job.hex()));
    const JobInputs inputs{.data = id.data, .weights = WeightsIn(job_bin)};
    if (Encode(*job_, inputs) != job_bin) Damage("job.bin", "is not the encoding of job.toml with the data root of id");
    Job endless = *job_;
    endless.steps = 0;
    if (JobId(endless, inputs, *program_) != id.trajectory) Damage("id", "its trajectory is not that of the job");
  }

  void CheckLog() {
    const std::string checkpoint = "log/checkpoint";
    if (!Take(checkpoint)) {
      if (has_receipt_ || !SnapshotsHere().empty()) Damage(checkpoint, "is missing");
      return;
    }
    auto log = RunLog::Read(Path("log"), header_->signer, header_->identity.trajectory);
    if (!log) {
      // Which tiles it needs is not known then.
      files_.TakeAll("log/tile/");
      return DamageFrom(log.error(), checkpoint);
    }
    log_ = std::move(*log);
    for (const std::string& tile : TilePaths(log_->entries().size())) Take("log/" + tile);
    const auto note = ReadFile(Path(checkpoint), kMaxSmallFile);
    if (note && std::ranges::count(*note, '\n') > 5) Note(checkpoint, "carries signatures of others, which are not checked");
    CheckOrigin();
    if (job_) CheckSchedule();
  }

  // A log that a run of another number of steps left is taken over when training goes on.
  void CheckOrigin() {
    const std::string& origin = log_->checkpoint().origin;
    const bool ours = origin == LogOrigin(header_->signer, header_->identity.job);
    log_is_current_ = ours && settled_;
    if (ours) return;
    const std::string prefix = header_->signer.name() + "/";
    const bool other_length = origin.starts_with(prefix) && Digest::FromHex(origin.substr(prefix.size())).has_value();
    if (other_length && !has_receipt_) {
      Note("log/checkpoint", "is of the job with another number of steps; training takes it over");
    } else {
      Damage("log/checkpoint", fmt::format("its origin is {}, which is not of this run", origin));
    }
  }

  void CheckSchedule() {
    const std::vector<LogEntry>& entries = log_->entries();
    EntryRules rules = EntryRules::Of(*job_);
    if (!log_is_current_) rules.schedule.steps = entries.empty() ? 0 : entries.back().step;
    if (const auto wrong = FindWrongEntry(rules, entries, header_->identity.trajectory)) {
      Damage("log", fmt::format("entry {} {}", wrong->index, wrong->what));
    }
  }

  std::vector<std::int64_t> SnapshotsHere() const {
    constexpr std::string_view kFolder = "snapshots/";
    std::vector<std::int64_t> steps;
    for (const std::string& file :
         files_.Below(kFolder, [](std::string_view name) { return SnapshotStep(name).has_value(); })) {
      steps.push_back(*SnapshotStep(std::string_view(file).substr(kFolder.size())));
    }
    return steps;
  }
  static std::string SnapshotFile(std::int64_t step) { return fmt::format("snapshots/step-{:010}.safetensors", step); }

  void CheckSnapshots() {
    const std::vector<std::int64_t> steps = SnapshotsHere();
    for (const std::int64_t step : steps) {
      const std::string file = SnapshotFile(step);
      Take(file);
      if (!program_) continue;
      const auto info = CheckSnapshotFile(Path(file), program_->state, pool_);
      if (!info) {
        DamageFrom(info.error(), file);
      } else if (info->step != step || info->trajectory != header_->identity.trajectory) {
        Damage(file, "is a snapshot of another run or step");
      } else if (const Status agrees = CheckAgainstLog(*info); !agrees) {
        Damage(file, agrees.error().message);
      } else if (const Status logs = CheckRoundingLogs(*info); !logs) {
        Damage(file, logs.error().message);
      }
    }
    if (!steps.empty()) newest_snapshot_ = steps.back();
    const std::int64_t last = job_ ? job_->steps : -1;
    if (has_receipt_ && job_ && std::ranges::find(steps, last) == steps.end()) Damage(SnapshotFile(last), "is missing");
  }

  Status CheckAgainstLog(const SnapshotInfo& info) const {
    if (!log_ || !job_) return {};  // which has been said
    // How many steps the job had that a log of another number of steps is of, is not known; its last entry may be of the last.
    const CommitSchedule schedule = log_is_current_ ? CommitSchedule::Of(*job_) : CommitSchedule::Endless(job_->commit_every);
    return CheckFitsLog(info, *log_, schedule, header_->signer);
  }

  void CheckEvents() {
    const std::vector<std::string> files = files_.Below("events/", IsEventFileName);
    for (const std::string& file : files) CheckEventFile(file, file == files.back());
  }

  // A process that was interrupted leaves a bad end in the newest file alone, after what it had synced with its last snapshot.
  void CheckEventFile(const std::string& file, bool newest) {
    Take(file);
    const auto map = MappedFile::Open(Path(file));
    if (!map) return DamageFrom(map.error(), file);
    const EventScan scan = ScanEvents(map->bytes());
    if (scan.records > 0 && scan.whole == map->bytes().size()) return;
    const std::string what =
        fmt::format("the record at byte {} {}", scan.whole, scan.torn ? "is cut off" : "does not fit its checksums");
    if (newest && !has_receipt_ && scan.records > 0 && scan.last_step >= newest_snapshot_) {
      Note(file, what + ", as an interrupted write leaves it; training cuts it off");
    } else {
      Damage(file, what);
    }
  }

  void CheckTraces() {
    constexpr std::string_view kFolder = "traces/";
    for (const std::string& file : files_.Below(kFolder, [](std::string_view name) { return TraceStepOf(name).has_value(); })) {
      Take(file);
      if (!read_trace_) {
        Note(file, "not checked");
      } else if (const Status good = CheckTrace(file, *TraceStepOf(std::string_view(file).substr(kFolder.size()))); !good) {
        DamageFrom(good.error(), file);
      }
    }
  }

  Status CheckTrace(const std::string& file, std::int64_t step) const {
    ASSAY_ASSIGN(const MappedFile map, MappedFile::Open(Path(file)));
    if (!program_) return {};  // which has been said
    ASSAY_ASSIGN(const TraceSummary trace, read_trace_(map.bytes(), header_->signer, *program_, Path(file)));
    if (trace.trajectory != header_->identity.trajectory || trace.step != step) return Err("is a trace of another run or step");
    for (const LogEntry& entry : log_ ? std::span<const LogEntry>(log_->entries()) : std::span<const LogEntry>()) {
      const bool differs = (entry.step == step && entry.state_root != trace.after) ||
                           (entry.step == step - 1 && entry.state_root != trace.before);
      if (differs) return Err("its state root of step {} is not that of the log", entry.step);
    }
    return {};
  }

  // Every log is there and is the one that the log's entries commit to.
  void CheckRounding() {
    constexpr std::string_view kFolder = "rounding/";
    for (const std::string& file :
         files_.Below(kFolder, [](std::string_view name) { return RoundingLogs::StepsIn(name).has_value(); })) {
      Take(file);
    }
    if (!log_ || log_->entries().empty() || !log_->entries().front().rounding_root) return;
    if (const Status good = CheckRoundingLogs(); !good) DamageFrom(good.error(), kFolder);
  }

  Status CheckRoundingLogs() const {
    ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(Path("rounding")));
    std::int64_t from = 0;
    for (const LogEntry& entry : log_->entries()) {
      ASSAY_ASSIGN(const std::vector<RoundingLeaf> leaves, logs.Leaves(from, entry.step));
      if (!entry.rounding_root || *entry.rounding_root != RoundingRootOfSteps(leaves)) {
        return Err("the rounding logs up to step {} are not those of the log", entry.step);
      }
      from = entry.step;
    }
    return {};
  }

  // Those that a snapshot is signed with, which may be of steps that the log does not commit to yet.
  Status CheckRoundingLogs(const SnapshotInfo& info) const {
    if (!job_ || (job_->precision == Precision::kFp64Rounded) != info.rounding_root.has_value()) {
      return !job_ ? Status() : Err("{} rounding root", info.rounding_root ? "has a" : "has no");
    }
    if (!info.rounding_root) return {};
    ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(Path("rounding")));
    ASSAY_ASSIGN(const std::vector<RoundingLeaf> leaves,
                 logs.Leaves(info.step / job_->commit_every * job_->commit_every, info.step));
    if (*info.rounding_root != RoundingRootOfSteps(leaves)) return Err("is signed with other rounding logs than there are");
    return {};
  }

  void CheckFollows() {
    const std::string name = "follows";
    if (!Take(name)) return;
    auto follows = ReadFollows(Path(name));
    if (!follows) return DamageFrom(follows.error(), name);
    follows_ = std::move(*follows);
    if (job_ && job_->precision != Precision::kFp64Rounded) Damage(name, "is of a run whose job has no rounding log");
  }

  void CheckWeights() {
    const std::string name = "model.safetensors";
    if (!Take(name)) {
      if (has_receipt_) Damage(name, "is missing");
      return;
    }
    if (!job_) return;
    const auto info =
        CheckWeightsFile(Path(name), ModelState(job_->model), [this](std::int64_t step) { return Path(SnapshotFile(step)); });
    if (!info) return DamageFrom(info.error(), name);
    if (info->trajectory != header_->identity.trajectory || (settled_ && info->job != header_->identity.job)) {
      Damage(name, "is of another job");
    }
    if (has_receipt_ && info->step != job_->steps) Damage(name, fmt::format("is of step {}, not of the last", info->step));
  }

  void CheckReceipt() {
    const std::string name = "receipt.json";
    if (!Take(name) && !has_receipt_) return;
    const auto bytes = ReadFile(Path(name), kMaxSmallFile);
    if (!bytes) return DamageFrom(bytes.error(), name);
    const auto receipt = OpenReceipt(AsText(*bytes), header_->signer, Path(name));
    if (!receipt) return DamageFrom(receipt.error(), name);
    Receipt expected = *receipt;
    expected.follows = follows_;
    expected.job = header_->identity.job;
    expected.trajectory = header_->identity.trajectory;
    expected.data = header_->identity.data;
    expected.program = header_->program_bin;
    if (job_) {
      expected.steps = job_->steps;
      expected.commit_every = job_->commit_every;
      expected.snapshot_every = job_->snapshot.every;
    }
    if (log_ && !log_->entries().empty()) {
      expected.log = log_->checkpoint();
      expected.initial_state_root = log_->entries().front().state_root;
      expected.final_state_root = log_->entries().back().state_root;
      expected.loss_bits = log_->entries().back().loss_bits;
    }
    if (log_ && job_ && (log_->entries().empty() || log_->entries().back().step != job_->steps)) {
      Damage(name, "commits to a log that does not reach the last step");
    }
    if (const auto weights = Safetensors::Open(Path("model.safetensors"))) {
      expected.model = HashBytes(weights->bytes());
      expected.weights = WeightsRoot(*weights, pool_).value_or(Digest{});
    }
    if (expected != *receipt) Damage(name, DifferenceOf(*receipt, expected));
  }

  void NameTheRest(bool identified) {
    for (const std::string& file : files_.rest()) {
      if (IsTemporaryName(std::string_view(file).substr(file.rfind('/') + 1))) {
        Note(file, kLeftover);
      } else if (!identified) {
        Note(file, "not checked");
      } else if (file.starts_with("log/tile/")) {
        Note(file, kLeftover);
      } else {
        Note(file, "is not a file of a run");
      }
    }
  }

  FsckFiles files_;
  ThreadPool& pool_;
  const TraceReader& read_trace_;
  bool has_receipt_ = false;
  std::optional<RunHeader> header_;
  std::optional<RunHeader> next_;
  bool settled_ = false;         // whether the fixed files are those of `id`
  bool log_is_current_ = false;  // whether the log is of the job that `id` names
  std::optional<Job> job_;
  std::optional<Program> program_;
  std::optional<RunLog> log_;
  std::optional<Follows> follows_;
  std::int64_t newest_snapshot_ = 0;
};

}  // namespace

std::string_view Name(FsckVerdict verdict) {
  switch (verdict) {
    case FsckVerdict::kWhole: return "whole";
    case FsckVerdict::kUnfinished: return "unfinished";
    case FsckVerdict::kDamaged: return "damaged";
  }
  return "";
}

Result<FsckReport> Fsck(const std::string& path, ThreadPool& pool, const TraceReader& read_trace) {
  ASSAY_TRY(RunDirectory::CheckIsDirectory(path));
  // Looked at first, so that a directory of anything else is not read from end to end.
  const auto has = [&](std::string_view name) { return Exists(JoinPath(path, name)); };
  if (!has("id") && !has("id.next") && !has("job.toml") && !has("job.bin") && !has("program.bin")) {
    return Err("{}: is not a run directory (it has no file 'id')", path);
  }
  std::optional<FileLock> lock;
  if (const std::string file = JoinPath(path, "lock"); Exists(file)) {
    ASSAY_ASSIGN(lock, FileLock::TryShare(file));
    if (!lock) return Err("{}: a process is training in this directory; check again when it is done", path);
  }
  ASSAY_ASSIGN(FsckFiles files, FsckFiles::List(path));
  return RunCheck(std::move(files), pool, read_trace).Run();
}

}  // namespace assay
