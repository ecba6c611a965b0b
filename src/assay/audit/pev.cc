#include "assay/audit/pev.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "assay/audit/replay.h"
#include "assay/data/batch_order.h"
#include "assay/monitor/iteration_rule.h"
#include "assay/monitor/speed.h"
#include "assay/monitor/telemetry_file.h"
#include "assay/run/commit_schedule.h"
#include "assay/run/segments.h"
#include "assay/train/loss_pass.h"

namespace assay {
namespace {

using monitor::EpochFacts;
using monitor::RuleResult;
using monitor::RuleState;
using monitor::SameLoss;

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;
constexpr int kMeasuredSteps = 8;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A loss as the run told it.
struct Told {
  std::uint32_t bits = 0;
  bool committed = false;  // in an entry of the log
};

// What was committed to before anything was drawn.
Result<Digest> CommitmentOf(const RunDirectory& run, bool finished) {
  ASSAY_ASSIGN(const Bytes file, finished ? ReadFile(run.receipt_path(), kMaxReceiptBytes)
                                          : ReadFile(JoinPath(run.log_path(), "checkpoint"), kMaxNoteBytes));
  return HashBytes(file);
}

// What the draws of one purpose follow from.
Digest DrawSeed(const Digest& commitment, ByteSpan nonce, std::string_view purpose, std::int64_t number) {
  ByteWriter out;
  out.String("assay/pev/1");
  out.Raw(commitment.bytes);
  out.Blob(nonce);
  out.String(purpose);
  out.I64(number);
  return HashBytes(out.bytes());
}

class EpochChecker {
 public:
  EpochChecker(const RunDirectory& run, const PreparedJob& prepared, const RunLog& log, const PevOptions& options,
               Backend& steps, Backend& forward, ThreadPool& pool)
      : run_(run),
        prepared_(prepared),
        log_(log),
        options_(options),
        forward_(forward),
        strict_(options.rules == RuleSet::kStrict),
        batch_(prepared.job.batch.microbatch * prepared.job.batch.microbatches),
        last_(log.entries().back().step),
        replay_(run, prepared, log, steps, pool),
        pass_(prepared, forward) {}

  Result<PevReport> Run(PevReport report) {
    const bool finished = report.stage == RunStage::kFinished;
    report.step = last_;
    report.steps = prepared_.job.steps;
    ASSAY_ASSIGN(commitment_, CommitmentOf(run_, finished));
    ASSAY_TRY(CollectTold(finished, report));
    MakeEpochs();
    ASSAY_TRY(ChooseStates());
    ASSAY_TRY(Compute());
    report.cost.training_flops = monitor::StepFlops(prepared_.program) * static_cast<double>(last_);
    report.cost.steps = last_;
    report.cost.samples = samples_;
    report.cost.flops = flops_;
    report.cost.seconds = seconds_;
    if (options_.measure) {
      ASSAY_ASSIGN(report.cost.step_seconds, MeasureStep());
      report.cost.forward_seconds = best_ * static_cast<double>(passes_);
    }
    for (const std::int64_t step : drawn_) report.compared.push_back(step + 1);
    if (strict_ && finished) report.rules.push_back({std::nullopt, LogRule()});
    if (strict_) report.rules.push_back({std::nullopt, StartRule()});
    for (const Epoch& epoch : epochs_) {
      const std::int64_t number = epoch.facts.epoch;
      if (epoch.damage) {
        report.rules.push_back({number, monitor::Named("epoch", "damaged", RuleState::kDamaged, *epoch.damage)});
      } else if (strict_) {
        report.rules.push_back({number, StrictEpochRule(epoch.facts)});
      } else {
        report.rules.push_back({number, SeedEpochRule(epoch.facts, options_.percent)});
      }
      if (strict_) report.rules.push_back({number, LossesOf(epoch)});
    }
    std::vector<RuleResult> results;
    for (const EpochRule& rule : report.rules) results.push_back(rule.result);
    report.state = Worst(results);
    return report;
  }

 private:
  struct Epoch {
    EpochFacts facts;
    std::int64_t openings = 0, told = 0;  // steps of it that follow a state at hand; whose loss was told, too
    std::vector<SameLoss> compared{};
    std::vector<std::int64_t> positions{};  // drawn, among the samples of its steps
    std::optional<std::string> damage{};
  };

  // The losses of entries, which are committed to, and those between them, which the telemetry has.
  Status CollectTold(bool finished, PevReport& report) {
    report.losses_from = "log";
    if (IsPlainFile(run_.telemetry_path())) {
      ASSAY_ASSIGN(const Bytes file, ReadFile(run_.telemetry_path(), monitor::kMaxTelemetryBytes));
      const monitor::Telemetry telemetry = monitor::ReadTelemetry(file, run_.identity().trajectory, run_.signer());
      using End = monitor::ChainScan::End;
      if (telemetry.scan.end == End::kBroken || telemetry.scan.end == End::kForeign ||
          (finished && telemetry.scan.end == End::kTorn)) {
        report.rules.push_back(
            {std::nullopt, monitor::Named("telemetry", "damaged", RuleState::kDamaged,
                                          fmt::format("{}: {}", run_.telemetry_path(), telemetry.scan.problem))});
      } else {
        for (const auto& [step, record] : monitor::CountingSteps(telemetry)) told_[step] = {record.loss_bits, false};
        if (!told_.empty()) report.losses_from = "telemetry";
      }
    }
    for (const LogEntry& entry : log_.entries()) {
      if (entry.step > 0) told_[entry.step] = {entry.loss_bits, true};
    }
    return {};
  }

  std::int64_t EpochOf(std::int64_t step) const {  // counted from 1
    return monitor::IterationOf(step - 1, batch_, prepared_.data.train->samples()).epoch;
  }

  void MakeEpochs() {
    for (std::int64_t step = 1; step <= last_; ++step) {
      const std::int64_t number = EpochOf(step);
      if (epochs_.empty() || epochs_.back().facts.epoch != number) {
        epochs_.push_back({.facts = {.epoch = number, .first_step = step, .microbatches = prepared_.job.batch.microbatches}});
      }
      EpochFacts& facts = epochs_.back().facts;
      facts.last_step = step;
      facts.population += batch_;
      if (const auto told = told_.find(step); told != told_.end())
        facts.recorded.push_back(std::bit_cast<float>(told->second.bits));
    }
  }

  Epoch* EpochWith(std::int64_t step) {
    const auto found = std::ranges::find_if(epochs_, [&](const Epoch& epoch) { return step <= epoch.facts.last_step; });
    return found == epochs_.end() ? nullptr : &*found;
  }

  // Which states are needed, and what of each.
  Status ChooseStates() {
    ASSAY_ASSIGN(std::vector<std::int64_t> snapshots, run_.SnapshotSteps());
    const CommitSchedule schedule = CommitSchedule::Of(prepared_.job);
    std::erase_if(snapshots, [&](std::int64_t step) { return step < 1 || step > last_ || !schedule.IsCommitted(step); });
    if (strict_) ChooseOpenings(snapshots);
    for (std::size_t i = 0; i < epochs_.size(); ++i) ChooseCheckpoint(i, snapshots);
    return {};
  }

  // Steps whose loss can be computed again, because the state before them is at hand. The starting state always is.
  void ChooseOpenings(const std::vector<std::int64_t>& snapshots) {
    std::vector<std::int64_t> openings;
    const auto consider = [&](std::int64_t step) {
      Epoch* epoch = EpochWith(step + 1);
      if (epoch == nullptr) return;
      ++epoch->openings;
      if (!told_.contains(step + 1)) return;
      ++epoch->told;
      openings.push_back(step);
    };
    consider(0);
    for (const std::int64_t step : snapshots) consider(step);
    if (openings.empty()) return;
    // Half of the share goes into whole steps, the rest into single samples.
    const auto count = static_cast<std::int64_t>(openings.size());
    const auto share = static_cast<std::int64_t>(options_.percent / 200 * static_cast<double>(last_));
    const Digest seed = DrawSeed(commitment_, options_.nonce, "losses", 0);
    for (const std::int64_t i : DrawNumbers(seed, count, std::clamp<std::int64_t>(share, 1, count))) {
      drawn_.insert(openings[static_cast<std::size_t>(i)]);
    }
  }

  void ChooseCheckpoint(std::size_t index, const std::vector<std::int64_t>& snapshots) {
    EpochFacts& facts = epochs_[index].facts;
    const std::int64_t steps = facts.last_step - facts.first_step + 1;
    for (const std::int64_t step : snapshots) {
      const auto away = [&](std::int64_t at) { return std::abs(at - facts.last_step); };
      if (2 * away(step) <= steps && (!facts.checkpoint || away(step) < away(*facts.checkpoint))) facts.checkpoint = step;
    }
    if (!facts.checkpoint) return;
    for (std::int64_t step = facts.first_step; step <= std::max(facts.last_step, *facts.checkpoint); ++step) {
      const auto told = told_.find(step);
      if (told == told_.end()) continue;
      const float loss = std::bit_cast<float>(told->second.bits);
      facts.highest = facts.highest ? std::max(*facts.highest, loss) : loss;
    }
    if (const auto next = told_.find(*facts.checkpoint + 1); next != told_.end()) {
      facts.next_loss = std::bit_cast<float>(next->second.bits);
    }
    const std::int64_t rows = prepared_.job.batch.microbatch, groups = facts.population / rows;
    std::int64_t wanted = (SampleSize(facts.population, options_.percent) + rows - 1) / rows;
    if (strict_) {
      const auto whole = std::ranges::count_if(
          drawn_, [&](std::int64_t step) { return step + 1 >= facts.first_step && step + 1 <= facts.last_step; });
      wanted -= static_cast<std::int64_t>(whole) * prepared_.job.batch.microbatches;
      if (wanted < static_cast<std::int64_t>(monitor::kLeastGroups)) wanted = 0;
    }
    facts.drawn = std::min(wanted, groups) * rows;
    epochs_[index].positions =
        DrawNumbers(DrawSeed(commitment_, options_.nonce, "samples", facts.epoch), facts.population, facts.drawn);
  }

  // One state after the other, each loaded once.
  Status Compute() {
    std::set<std::int64_t> states = drawn_;
    for (const Epoch& epoch : epochs_) {
      if (epoch.facts.checkpoint) states.insert(*epoch.facts.checkpoint);
    }
    if (strict_) states.insert(0);
    for (const std::int64_t step : states) {
      if (options_.should_stop && options_.should_stop()) return Err("was interrupted");
      ASSAY_TRY(step == 0 ? replay_.Begin() : replay_.Load(step));  // the start is the job's, whatever a snapshot of it says
      if (replay_.step() != step) {
        Damage(step);
        continue;
      }
      if (step == 0) start_root_ = replay_.Root();
      for (Epoch& epoch : epochs_) {
        if (epoch.facts.checkpoint != step) continue;
        ASSAY_TRY(ComputeGroups(epoch));
      }
      if (drawn_.contains(step)) {
        ASSAY_TRY(ComputeLoss(step));
      }
    }
    return {};
  }

  // Its snapshot is there and is not the state that the log commits to.
  void Damage(std::int64_t step) {
    const std::string words =
        fmt::format("{}: is not a whole snapshot of the state that the log commits to", run_.SnapshotPath(step));
    for (Epoch& epoch : epochs_) {
      const bool opens = drawn_.contains(step) && step + 1 >= epoch.facts.first_step && step + 1 <= epoch.facts.last_step;
      if (epoch.facts.checkpoint == step || opens) epoch.damage = words;
    }
    drawn_.erase(step);
  }

  // The state where the forward passes find it.
  const State& Here() {
    if (&replay_.stepper().backend() == &forward_) return replay_.state();
    const HostState host(replay_.state());
    copy_.clear();
    for (const Tensor& tensor : host.get()) copy_.push_back(tensor.CopyTo(forward_.memory()));
    return copy_;
  }

  Status ComputeGroups(Epoch& epoch) {
    const State& state = Here();
    EpochFacts& facts = epoch.facts;
    const std::int64_t samples = prepared_.data.train->samples(), rows = prepared_.job.batch.microbatch;
    std::vector<std::int64_t> group;
    for (const std::int64_t position : epoch.positions) {
      const auto step = static_cast<std::uint32_t>(facts.first_step - 1 + position / batch_);
      group.push_back(BatchIndex(prepared_.job.seed, samples, step, batch_, position % batch_));
      if (static_cast<std::int64_t>(group.size()) < rows) continue;
      if (options_.should_stop && options_.should_stop()) return Err("was interrupted");
      const double begin = Now();
      facts.groups.push_back(
          pass_.MicrobatchLoss(state, *facts.checkpoint, static_cast<std::int64_t>(facts.groups.size()), group));
      Count(Now() - begin, 1, pass_.flops());
      group.clear();
    }
    return {};
  }

  // The loss of the step after this state; of a job that rounds, by the whole step, which follows its log.
  Status ComputeLoss(std::int64_t step) {
    Epoch& epoch = *EpochWith(step + 1);
    const Told& told = told_.at(step + 1);
    const std::int64_t microbatches = prepared_.job.batch.microbatches;
    const double begin = Now();
    float loss = 0;
    if (IsExact(prepared_.job.precision)) {
      loss = pass_.StepLoss(Here(), replay_.stepper().Plan(step));
      Count(Now() - begin, microbatches, pass_.flops() * static_cast<double>(microbatches));
    } else {
      ASSAY_ASSIGN(const StepOutcome outcome, replay_.Step());
      loss = outcome.loss;
      Count(Now() - begin, microbatches, monitor::StepFlops(prepared_.program));
    }
    epoch.compared.push_back({step + 1, told.bits, std::bit_cast<std::uint32_t>(loss), told.committed});
    return {};
  }

  void Count(double seconds, std::int64_t microbatches, double flops) {
    seconds_ += seconds;
    const double each = seconds / static_cast<double>(microbatches);
    best_ = passes_ == 0 ? each : std::min(best_, each);
    passes_ += microbatches;
    samples_ += microbatches * prepared_.job.batch.microbatch;
    flops_ += flops;
  }

  Result<double> MeasureStep() {
    ASSAY_TRY(replay_.Begin());
    // Few passes may have been drawn, and the first of them plans its memory.
    for (int i = 0; i < kMeasuredSteps; ++i) {
      const double begin = Now();
      pass_.StepLoss(Here(), replay_.stepper().Plan(i));
      const double each = (Now() - begin) / static_cast<double>(prepared_.job.batch.microbatches);
      best_ = best_ == 0 ? each : std::min(best_, each);
    }
    double best = 0;
    for (int i = 0; i <= kMeasuredSteps && replay_.step() < last_; ++i) {
      const double begin = Now();
      ASSAY_TRY(replay_.Step());
      replay_.stepper().backend().Wait();
      const double seconds = Now() - begin;
      if (i > 0) best = best == 0 ? seconds : std::min(best, seconds);  // the first one plans its memory
    }
    return best;
  }

  // A finished run has committed to all of its steps.
  RuleResult LogRule() const {
    const std::int64_t expected = CommitSchedule::Of(prepared_.job).entries();
    const auto entries = static_cast<std::int64_t>(log_.entries().size());
    return monitor::Judged("log", entries == expected, static_cast<double>(entries), static_cast<double>(expected),
                           fmt::format("the receipt is for a log of {} entries, its job commits {}", entries, expected));
  }

  RuleResult StartRule() const {
    const bool holds = start_root_ == log_.entries().front().state_root;
    return monitor::Judged("start", holds, std::nullopt, std::nullopt,
                           holds ? "the starting state is the one that the job gives"
                                 : "the run starts from another state than the one that the job gives");
  }

  RuleResult LossesOf(const Epoch& epoch) const {
    if (prepared_.job.precision == Precision::kFp32Vendor) {
      return monitor::Named("losses", "vendor", RuleState::kUnchecked,
                            "the vendor's kernels give other bits on another machine; nobody can compute a loss again");
    }
    return SameLossRule(epoch.compared, epoch.openings, epoch.told);
  }

  const RunDirectory& run_;
  const PreparedJob& prepared_;
  const RunLog& log_;
  const PevOptions& options_;
  Backend& forward_;
  bool strict_;
  std::int64_t batch_;  // samples in a step
  std::int64_t last_;   // committed step
  Replay replay_;
  LossPass pass_;
  State copy_;
  Digest commitment_{}, start_root_{};
  std::map<std::int64_t, Told> told_;
  std::vector<Epoch> epochs_;
  std::set<std::int64_t> drawn_;  // states whose next loss is computed again
  std::int64_t samples_ = 0;
  std::int64_t passes_ = 0;  // microbatches that went forward
  double flops_ = 0, seconds_ = 0;
  double best_ = 0;  // seconds of the quickest of these: the first one plans its memory, and others may share the machine
};

PevReport Without(PevReport report, RuleState state, std::string reason) {
  report.state = state;
  report.reason = std::move(reason);
  return report;
}

}  // namespace

Result<PevReport> CheckEpochs(const RunDirectory& run, const PreparedJob& prepared, const PevOptions& options, Backend& steps,
                              Backend& forward, ThreadPool& pool) {
  PevReport report;
  ASSAY_ASSIGN(report.stage, StageOf(run));
  const auto damaged = [&](const Error& error) -> Result<PevReport> {
    if (error.system) return tl::unexpected(error);
    return Without(report, RuleState::kDamaged, error.message);
  };
  const auto log = ReadRunLog(run, report.stage == RunStage::kGoingOn);
  if (!log) return damaged(log.error());
  if (report.stage == RunStage::kFinished) {
    if (const Status good = CheckReceiptFits(run, *log); !good) return damaged(good.error());
  }
  report.steps = prepared.job.steps;
  if (log->entries().empty() || log->entries().back().step == 0)
    return Without(report, RuleState::kUnchecked, "no step is committed to yet");
  return EpochChecker(run, prepared, *log, options, steps, forward, pool).Run(std::move(report));
}

}  // namespace assay
