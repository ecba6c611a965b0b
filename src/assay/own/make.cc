#include "assay/own/make.h"

#include <algorithm>
#include <map>
#include <set>

#include "assay/exec/step.h"
#include "assay/job/job.h"
#include "assay/monitor/record.h"
#include "assay/ops/table.h"
#include "assay/own/distance.h"
#include "assay/own/model_tensors.h"
#include "assay/run/fsck_signed.h"
#include "assay/run/rounding_logs.h"
#include "assay/run/snapshot_fit.h"

namespace assay::own {
namespace {

constexpr std::uint64_t kMaxFixedBytes = std::uint64_t{1} << 30;

class Maker {
 public:
  Maker(const RunDirectory& run, const MakeOptions& options, ThreadPool& pool) : run_(run), options_(options), pool_(pool) {}

  Result<MadeClaim> Make() {
    ASSAY_TRY(ReadSigned());
    made_.claim.nonce = options_.nonce;
    made_.claim.top = options_.top;
    made_.claim.drawn = options_.drawn;
    ASSAY_TRY(ReadParents());
    const std::int64_t steps = claims_->receipt.steps, every = claims_->receipt.snapshot_every;
    segments_ = SegmentsOf(steps, every);
    ASSAY_TRY(ListStates());
    std::map<std::int64_t, Stretch> chosen;
    ASSAY_TRY(ChooseByChange(chosen));
    for (const Segment& segment : DrawnStretches(steps, every, claims_->receipt_hash, options_.nonce, options_.drawn)) {
      const auto [at, fresh] = chosen.emplace(segment.begin, Stretch{segment, Chosen::kDrawn});
      if (!fresh) at->second.chosen = Chosen::kBoth;
    }
    std::set<std::int64_t> states = {steps};
    if (decoded_->inputs.weights) states.insert(0);
    for (const auto& [unused, stretch] : chosen) {
      made_.claim.stretches.push_back(stretch);
      states.insert(stretch.steps.end);
      if (stretch.steps.begin > 0) states.insert(stretch.steps.begin);
    }
    for (const std::int64_t step : states) ASSAY_TRY(AddState(step));
    ASSAY_TRY(AddRoundings());
    std::ranges::sort(made_.claim.files, {}, &ClaimedFile::name);
    return std::move(made_);
  }

 private:
  Status AddFile(const std::string& name) {
    auto map = MappedFile::Open(JoinPath(run_.path(), name));
    if (!map) return tl::unexpected(map.error());
    if (map->bytes().size() > MaxBytesOf(name)) return Err("{}: is too large for a claim", JoinPath(run_.path(), name));
    made_.maps.push_back(std::make_unique<MappedFile>(std::move(*map)));
    made_.claim.files.push_back({name, made_.maps.back()->bytes()});
    return {};
  }

  // The signed parts, as far as they agree with each other.
  Status ReadSigned() {
    if (!Exists(run_.receipt_path())) return Err("{}: has no receipt: its training is not finished", run_.path());
    ASSAY_ASSIGN(FsckFiles files, FsckFiles::List(run_.path()));
    FsckSigned checked(files);
    checked.Check();
    for (const Finding& finding : files.Report(true).findings) {
      if (finding.damage || finding.refutes)
        return Err("{}: {}; assay fsck says more", JoinPath(run_.path(), finding.file), finding.problem);
    }
    claims_ = checked.claims();
    if (!claims_) return Err("{}: receipt, log and job do not belong together; assay fsck says more", run_.path());
    for (const char* name : {"id", "job.bin", "job.toml", "program.bin", "receipt.json", "log/checkpoint"})
      ASSAY_TRY(AddFile(name));
    if (Exists(run_.follows_path())) ASSAY_TRY(AddFile("follows"));
    ASSAY_ASSIGN(const std::vector<std::string> tiles, ListTree(JoinPath(run_.log_path(), "tile")));
    for (const std::string& tile : tiles) {
      if (!IsTemporaryName(tile.substr(tile.find_last_of('/') + 1))) ASSAY_TRY(AddFile("log/tile/" + tile));
    }
    ASSAY_ASSIGN(decoded_, DecodeJob(made_.claim.Find("job.bin")->bytes));
    ASSAY_ASSIGN(program_, DecodeProgram(Ops(), made_.claim.Find("program.bin")->bytes));
    return {};
  }

  Status ReadParents() {
    for (const std::string& path : options_.parents) {
      if (IsDirectory(path)) {
        ASSAY_ASSIGN(const RunDirectory parent, RunDirectory::Open(path));
        Parent link;
        for (const auto& [span, name] :
             {std::pair(&link.receipt, "receipt.json"), {&link.job, "job.bin"}, {&link.program, "program.bin"}}) {
          ASSAY_ASSIGN(Bytes bytes, ReadFile(JoinPath(path, name), kMaxFixedBytes));
          made_.buffers.push_back(std::make_unique<Bytes>(std::move(bytes)));
          *span = *made_.buffers.back();
        }
        made_.claim.parents.push_back(link);
        continue;
      }
      ASSAY_ASSIGN(MappedFile map, MappedFile::Open(path));
      made_.maps.push_back(std::make_unique<MappedFile>(std::move(map)));
      ASSAY_ASSIGN(const OwnershipClaim parent, DecodeClaim(made_.maps.back()->bytes(), path));
      Parent link;
      for (const auto& [span, name] :
           {std::pair(&link.receipt, "receipt.json"), {&link.job, "job.bin"}, {&link.program, "program.bin"}}) {
        const ClaimedFile* file = parent.Find(name);
        if (file == nullptr) return Err("{}: has no {}", path, name);
        *span = file->bytes;
      }
      made_.claim.parents.push_back(link);
      made_.claim.parents.insert(made_.claim.parents.end(), parent.parents.begin(), parent.parents.end());
    }
    if (made_.claim.parents.size() > kMaxParents)
      return Err("--parent: a claim names at most {} runs that it descends from", kMaxParents);
    const bool from_file = decoded_->inputs.weights.has_value();
    if (!from_file && !made_.claim.parents.empty())
      return Err("--parent: the job starts from its seed, not from anybody's weights");
    return {};
  }

  // States that are kept: of the start, what follows from the seed needs no file.
  Status ListStates() {
    ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run_.SnapshotSteps());
    kept_.insert(steps.begin(), steps.end());
    return {};
  }

  bool IsAtHand(std::int64_t step) const { return kept_.contains(step) || (step == 0 && !decoded_->inputs.weights); }

  Result<State> StateAt(std::int64_t step) {
    if (step == 0 && !kept_.contains(0)) return InitialState(*program_, decoded_->job.seed, &pool_);
    ASSAY_ASSIGN(Snapshot snapshot, ReadSnapshot(run_.SnapshotPath(step), program_->state, pool_));
    if (snapshot.info.step != step) return Err("{}: is of step {}", run_.SnapshotPath(step), snapshot.info.step);
    ASSAY_TRY(
        CheckFitsLog(snapshot.info, claims_->log, CommitSchedule::Of(decoded_->job), run_.signer()).map_error([&](Error error) {
          error.message = fmt::format("{}: {}", run_.SnapshotPath(step), error.message);
          return error;
        }));
    return std::move(snapshot.state);
  }

  std::int64_t EpochOf(std::int64_t step) const {
    if (options_.epoch_samples == 0) return 0;
    const BatchConfig& batch = decoded_->job.batch;
    return monitor::IterationOf(step - 1, batch.microbatch * batch.microbatches, options_.epoch_samples).epoch;
  }

  // The largest changes of each epoch, among the segments whose ends are both kept.
  Status ChooseByChange(std::map<std::int64_t, Stretch>& chosen) {
    std::map<std::int64_t, std::vector<std::pair<double, Segment>>> epochs;
    if (options_.top == 0) return {};
    std::optional<std::pair<std::int64_t, State>> last;
    for (const Segment& segment : segments_) {
      if (!IsAtHand(segment.begin) || !IsAtHand(segment.end)) continue;
      if (!last || last->first != segment.begin) {
        ASSAY_ASSIGN(State begin, StateAt(segment.begin));
        last.emplace(segment.begin, std::move(begin));
      }
      ASSAY_ASSIGN(State end, StateAt(segment.end));
      ASSAY_ASSIGN(const auto before, ModelTensors(decoded_->job.model, *program_, last->second));
      ASSAY_ASSIGN(const auto after, ModelTensors(decoded_->job.model, *program_, end));
      const double change = DistanceOf(before, after).l2;
      epochs[EpochOf(segment.end)].emplace_back(change, segment);
      last.emplace(segment.end, std::move(end));
    }
    for (auto& [epoch, changes] : epochs) {
      std::ranges::sort(changes, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second.begin < b.second.begin;
      });
      const std::size_t count = std::min<std::size_t>(changes.size(), options_.top);
      for (std::size_t i = 0; i < count; ++i) {
        chosen.emplace(changes[i].second.begin, Stretch{changes[i].second, Chosen::kChange});
      }
    }
    return {};
  }

  Status AddState(std::int64_t step) {
    if (!kept_.contains(step)) {
      if (step == 0) {
        return Err(
            "{}: starts from a file of weights, and the state before its first step is not kept: its job needs snapshot.start "
            "= true",
            run_.path());
      }
      return Err("{}: the state after step {} has to be shown, and no snapshot of it is kept (snapshot.keep)", run_.path(),
                 step);
    }
    ASSAY_TRY(StateAt(step));  // whole, and what the log says
    return AddFile(run_.SnapshotPath(step).substr(run_.path().size() + 1));
  }

  Status AddRoundings() {
    if (decoded_->job.precision != Precision::kFp64Rounded) return {};
    ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(run_.rounding_path()));
    for (const std::string& name : names) {
      const auto steps = RoundingLogs::StepsIn(name);
      const bool needed = steps && std::ranges::any_of(made_.claim.stretches, [&](const Stretch& stretch) {
                            return steps->first <= stretch.steps.end && steps->last > stretch.steps.begin;
                          });
      if (needed) ASSAY_TRY(AddFile("rounding/" + name));
    }
    return {};
  }

  const RunDirectory& run_;
  const MakeOptions& options_;
  ThreadPool& pool_;
  MadeClaim made_;
  std::optional<SignedClaims> claims_;
  std::optional<DecodedJob> decoded_;
  std::optional<Program> program_;
  std::vector<Segment> segments_;
  std::set<std::int64_t> kept_;
};

}  // namespace

std::vector<Segment> DrawnStretches(std::int64_t steps, std::int64_t snapshot_every, const Digest& receipt_hash, ByteSpan nonce,
                                    std::uint32_t count) {
  const std::vector<Segment> all = SegmentsOf(steps, snapshot_every);
  const auto n = static_cast<std::int64_t>(all.size());
  std::vector<Segment> drawn;
  for (const std::int64_t i : DrawSegments(receipt_hash, nonce, n, std::min<std::int64_t>(count, n))) {
    drawn.push_back(all[static_cast<std::size_t>(i)]);
  }
  return drawn;
}

Result<MadeClaim> MakeClaim(const RunDirectory& run, const MakeOptions& options, ThreadPool& pool) {
  return Maker(run, options, pool).Make();
}

}  // namespace assay::own
