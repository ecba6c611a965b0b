#include "assay/run/fsck.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "assay/base/file.h"
#include "assay/monitor/chain.h"
#include "assay/run/directory.h"
#include "assay/run/events.h"
#include "assay/run/fsck_files.h"
#include "assay/run/fsck_signed.h"
#include "assay/run/fsck_tensors.h"
#include "assay/run/rounding_logs.h"
#include "assay/run/snapshot_fit.h"
#include "assay/run/weights_root.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxSmallFile = 1 << 16;
constexpr std::string_view kLeftover = "left by an interrupted write; training removes it";

class RunCheck {
 public:
  RunCheck(FsckFiles files, ThreadPool& pool, const TraceReader& read_trace)
      : files_(std::move(files)), signed_(files_), pool_(pool), read_trace_(read_trace) {}

  FsckReport Run() {
    CheckLock();
    const bool identified = signed_.Check();
    if (identified) {
      CheckSnapshots();
      CheckEvents();
      CheckTelemetry();
      CheckTraces();
      CheckRounding();
      CheckWeights();
    }
    NameTheRest(identified);
    FsckReport report = files_.Report(signed_.has_receipt());
    if (identified) report.claims = signed_.claims();
    return report;
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
      if (Contradicts(file)) continue;
      if (const Status good = CheckSnapshot(file, step); !good) {
        DamageFrom(good.error(), file);
      } else if (job() && program() && step == job()->steps) {
        last_is_good_ = true;
      }
    }
    if (!steps.empty()) newest_snapshot_ = steps.back();
    const std::int64_t last = job() ? job()->steps : -1;
    if (signed_.has_receipt() && job() && std::ranges::find(steps, last) == steps.end()) {
      Damage(SnapshotFile(last), "is missing");
    }
  }

  // Two statements about one state by one signer: what a snapshot is signed for, and the log. Where the job leaves no bit open, both cannot be true, whatever
  // else is wrong with the file.
  bool Contradicts(const std::string& name) {
    if (!signed_.binds() || !job() || !IsExact(job()->precision)) return false;
    const auto file = Safetensors::Open(Path(name));
    const auto info = file ? SnapshotInfoOf(*file) : tl::unexpected(file.error());
    if (!info || info->weights_only || info->trajectory != log()->trajectory() || !IsSignedBy(*info, header().signer))
      return false;
    const auto& entries = log()->entries();
    if (!std::ranges::binary_search(entries, info->step, {}, &LogEntry::step)) return false;
    const Status fits = CheckFitsLog(*info, *log(), CommitSchedule::Of(*job()), header().signer);
    if (!fits) files_.Refute(name, "is signed, and " + fits.error().message, info->step);
    return !fits;
  }

  Status CheckSnapshot(const std::string& file, std::int64_t step) const {
    if (!program()) return {};  // which has been said
    ASSAY_ASSIGN(const SnapshotInfo info, CheckSnapshotFile(Path(file), program()->state, pool_));
    if (info.step != step || info.trajectory != header().identity.trajectory) {
      return Err("is a snapshot of another run or step");
    }
    ASSAY_TRY(CheckAgainstLog(info));
    return CheckRoundingLogs(info);
  }

  Status CheckAgainstLog(const SnapshotInfo& info) const {
    if (!log() || !job()) return {};  // which has been said
    // How many steps the job had that a log of another number of steps is of, is not known; its last entry may be of the last.
    const CommitSchedule schedule =
        signed_.log_is_current() ? CommitSchedule::Of(*job()) : CommitSchedule::Endless(job()->commit_every);
    return CheckFitsLog(info, *log(), schedule, header().signer);
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
    if (newest && !signed_.has_receipt() && scan.records > 0 && scan.last_step >= newest_snapshot_) {
      Note(file, what + ", as an interrupted write leaves it; training cuts it off");
    } else {
      Damage(file, what);
    }
  }

  // Nothing depends on it; what is there is whole. With a snapshot goes a seal, and what came after the last one an interruption may have taken.
  void CheckTelemetry() {
    const std::string name = "telemetry.bin";
    if (!Take(name)) {
      // All else that is no plain file has been noted with the list of files.
      if (IsDirectory(Path(name)) && !files_.IsFolderLink(name)) Note(name, "is a directory, and counts as absent");
      return;
    }
    const auto map = MappedFile::Open(Path(name));
    if (!map) return DamageFrom(map.error(), name);
    std::int64_t sealed_step = 0;
    const auto see = [&](const monitor::Record& record, const Digest&) {
      if (const auto* seal = std::get_if<monitor::SealRecord>(&record.body)) sealed_step = seal->step;
    };
    const monitor::ChainScan scan = monitor::ScanTelemetry(map->bytes(), header().identity.trajectory, header().signer, see);
    if (scan.end == monitor::ChainScan::End::kWhole) return;
    if (scan.end != monitor::ChainScan::End::kForeign && !signed_.has_receipt() && sealed_step >= newest_snapshot_) {
      Note(name, scan.problem + ", as an interrupted write leaves it; training cuts it off");
    } else {
      Damage(name, scan.problem);
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
    if (!program()) return {};  // which has been said
    ASSAY_ASSIGN(const TraceSummary trace, read_trace_(map.bytes(), header().signer, *program(), Path(file)));
    if (trace.trajectory != header().identity.trajectory || trace.step != step) return Err("is a trace of another run or step");
    for (const LogEntry& entry : log() ? std::span<const LogEntry>(log()->entries()) : std::span<const LogEntry>()) {
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
    if (!log() || log()->entries().empty() || !log()->entries().front().rounding_root) return;
    if (const Status good = CheckRoundingLogs(); !good) DamageFrom(good.error(), kFolder);
  }

  Status CheckRoundingLogs() const {
    ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(Path("rounding")));
    std::int64_t from = 0;
    for (const LogEntry& entry : log()->entries()) {
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
    if (!job() || (job()->precision == Precision::kFp64Rounded) != info.rounding_root.has_value()) {
      return !job() ? Status() : Err("{} rounding root", info.rounding_root ? "has a" : "has no");
    }
    if (!info.rounding_root) return {};
    ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(Path("rounding")));
    ASSAY_ASSIGN(const std::vector<RoundingLeaf> leaves,
                 logs.Leaves(info.step / job()->commit_every * job()->commit_every, info.step));
    if (*info.rounding_root != RoundingRootOfSteps(leaves)) return Err("is signed with other rounding logs than there are");
    return {};
  }

  void CheckWeights() {
    const std::string name = "model.safetensors";
    const bool is_there = Take(name);
    if (!is_there && signed_.has_receipt()) Damage(name, "is missing");
    if (!job()) return;
    const std::optional<Digest> right = last_is_good_ ? RightWeights() : std::nullopt;
    const auto& receipt = signed_.receipt();
    // What the signer signed for as it lies here, beside the log.
    bool same_file = false, signed_for = false;
    if (const auto file = Safetensors::Open(Path(name)); is_there && receipt && file) {
      same_file = HashBytes(file->bytes()) == receipt->model;
      const auto root = WeightsRoot(*file, pool_);
      signed_for = same_file || (right && root && *root != *right && *root == receipt->weights);
    }
    const Status good = is_there ? CheckWeightsHere(name, right.has_value() || !receipt) : Status();
    if (!good && signed_for && right && signed_.binds()) {
      files_.Refute(name, good.error().message, job()->steps);
    } else if (!good) {
      DamageFrom(good.error(), name);
    } else if (is_there && receipt && !same_file) {
      Damage(name, "is not the file that the receipt names");
    }
    if (receipt && right && signed_.binds() && receipt->weights != *right) {
      files_.Refute("receipt.json", "the receipt's weights root is not that of the weights that the training ended with",
                    job()->steps);
    }
  }

  // By the last snapshot, which the log commits to.
  std::optional<Digest> RightWeights() const {
    const auto snapshot = Safetensors::Open(Path(SnapshotFile(job()->steps)));
    const auto entries = snapshot ? EntriesOf(*snapshot, pool_) : tl::unexpected(snapshot.error());
    if (!entries) return std::nullopt;
    std::vector<TensorEntry> weights;
    for (const StateSpec& spec : ModelState(job()->model)) {
      const auto entry = std::ranges::find(*entries, std::string_view(spec.name), &TensorEntry::name);
      if (entry == entries->end()) return std::nullopt;
      weights.push_back(*entry);
    }
    return EntriesRoot(kWeightsTag, weights);
  }

  // `by_snapshot`: it can be held against the state that it was taken from; otherwise only its hash tells.
  Status CheckWeightsHere(const std::string& name, bool by_snapshot) const {
    if (!by_snapshot) return {};
    ASSAY_ASSIGN(const SnapshotInfo info, CheckWeightsFile(Path(name), ModelState(job()->model),
                                                           [this](std::int64_t step) { return Path(SnapshotFile(step)); }));
    const RunIdentity& id = header().identity;
    if (info.trajectory != id.trajectory || (signed_.settled() && info.job != id.job)) return Err("is of another job");
    if (signed_.has_receipt() && info.step != job()->steps) return Err("is of step {}, not of the last", info.step);
    return {};
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

  const RunHeader& header() const { return signed_.header(); }
  const std::optional<Job>& job() const { return signed_.job(); }
  const std::optional<Program>& program() const { return signed_.program(); }
  const std::optional<RunLog>& log() const { return signed_.log(); }

  FsckFiles files_;
  FsckSigned signed_;
  ThreadPool& pool_;
  const TraceReader& read_trace_;
  std::int64_t newest_snapshot_ = 0;
  bool last_is_good_ = false;  // the snapshot of the last step is whole, and the log commits to it
};

}  // namespace

std::string_view Name(FsckVerdict verdict) {
  switch (verdict) {
    case FsckVerdict::kWhole: return "whole";
    case FsckVerdict::kUnfinished: return "unfinished";
    case FsckVerdict::kDamaged: return "damaged";
    case FsckVerdict::kRefuted: return "refuted";
  }
  return "";
}

Result<FsckReport> Fsck(const std::string& path, ThreadPool& pool, const TraceReader& read_trace) {
  ASSAY_TRY(RunDirectory::CheckIsDirectory(path));
  // Looked at first, so that a directory of anything else is not read from end to end.
  const auto has = [&](std::string_view name) { return Exists(JoinPath(path, name)); };
  if (!has("id") && !has("id.next") && !has("job.toml") && !has("job.bin") && !has("program.bin") &&
      !RunDirectory::HasRemains(path)) {
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
