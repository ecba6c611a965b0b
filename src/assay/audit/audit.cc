#include "assay/audit/audit.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "assay/audit/explain.h"
#include "assay/audit/replay.h"
#include "assay/base/check.h"
#include "assay/exec/step_nodes.h"
#include "assay/run/commit_schedule.h"
#include "assay/train/memory_fit.h"

namespace assay {
namespace {

constexpr std::string_view kVendorReason =
    "the job's precision is fp32-vendor: the vendor's kernels give other bits on another machine, so that nothing computed "
    "here speaks for the run or "
    "against it";

// What ends an audit early: the run is refuted, or the audit cannot go on (no refutation, a reason).
struct Stop {
  std::optional<Refutation> refutation;
  std::string reason;
};

class Auditor {
 public:
  Auditor(const RunDirectory& run, const PreparedJob& prepared, const Claims& claims, Backend& backend, ThreadPool& pool,
          const AuditHooks& hooks)
      : run_(run),
        prepared_(prepared),
        claims_(claims),
        pool_(pool),
        hooks_(hooks),
        replay_(run, prepared, claims.log, backend, pool) {}

  std::int64_t steps_checked() const { return checked_; }
  std::size_t segments_checked() const { return segments_checked_; }
  const std::optional<AuditRoundings>& roundings() const { return roundings_; }
  // What does not end a replay: a file that is of another run.
  const std::optional<Refutation>& damage() const { return damage_; }
  void IgnoreRoundings() {
    ignore_roundings_ = true;
    replay_.IgnoreRoundings();
  }

  // The entries that commit to steps first .. last, which the log has.
  std::optional<Stop> CheckEntriesOf(std::int64_t first, std::int64_t last) {
    if (auto stop = CheckStart(); stop || last == 0) return stop;
    const CommitSchedule schedule = CommitSchedule::Of(prepared_.job);
    const std::int64_t before = schedule.EntriesAfter(std::max<std::int64_t>(first, 1) - 1) - 1;
    Segment segment{.begin = schedule.StepOfEntry(before), .end = last};
    while (!schedule.IsCommitted(segment.end)) ++segment.end;
    return CheckSegment(segment);
  }

  // From the state that it begins with, whatever led to that.
  std::optional<Stop> CheckStretch(const Segment& stretch) {
    if (const Status loaded = replay_.Load(stretch.begin); !loaded) return StopBy(loaded.error(), stretch.begin);
    if (replay_.step() != stretch.begin) {
      const std::string reason = fmt::format("{}: is missing or damaged, and the steps after it cannot be run again",
                                             run_.SnapshotPath(stretch.begin));
      return Stop{Refutation{.reason = reason, .damage = true, .step = stretch.begin}, {}};
    }
    return CheckSegment(stretch);
  }

  // Replays the segments, which are in ascending order.
  std::optional<Stop> Check(const std::vector<Segment>& segments) {
    std::int64_t total = 0;
    for (const Segment& segment : segments) total += segment.end - segment.begin;
    if (hooks_.on_start) hooks_.on_start(total);
    if (auto stop = CheckStart()) return stop;
    for (const Segment& segment : segments) {
      if (auto stop = CheckBeyondHoles(segment)) {
        if (stop->refutation) ++segments_checked_;  // it has been looked at as far as it takes to refute it
        return stop;
      }
      ++segments_checked_;
    }
    auto stop = CheckEnd();
    const bool is_guilty = stop && stop->refutation && !stop->refutation->damage && !stop->refutation->open;
    return is_guilty || !hole_ ? stop : hole_;
  }

 private:
  // The starting state follows from the job alone, so it is always checked.
  std::optional<Stop> CheckStart() {
    if (const Status begun = replay_.Begin(); !begun) return Stop{{}, begun.error().message};
    const LogEntry& first = claims_.log.entries().front();
    if (replay_.Root() != first.state_root) return Stop{ExplainStart(prepared_, first, pool_), {}};
    return std::nullopt;
  }

  // Steps whose rounding logs are damaged cannot be run, and shield none that come after a state that the log commits to.
  std::optional<Stop> CheckBeyondHoles(Segment segment) {
    for (;;) {
      segment.begin = std::max(segment.begin, beyond_hole_);
      if (segment.begin >= segment.end) return std::nullopt;
      auto stop = CheckSegment(segment);
      if (!stop || !is_in_hole_) return stop;
      is_in_hole_ = false;
      const std::int64_t from = replay_.step();
      const auto beyond = replay_.LoadAfter(from);
      if (!beyond) return StopBy(beyond.error(), from);
      beyond_hole_ = *beyond ? replay_.step() : prepared_.job.steps;
      if (!hole_) hole_ = std::move(stop);
    }
  }

  std::optional<Stop> CheckSegment(const Segment& segment) {
    if (auto stop = GoTo(segment.begin)) return stop;
    while (replay_.step() < segment.end) {
      if (hooks_.should_stop && hooks_.should_stop()) return Stop{{}, "was interrupted"};
      if (auto stop = CheckStep()) return stop;
    }
    return std::nullopt;
  }

  // Gets the state after `step` steps from the nearest snapshot that the provider kept, and checks what lies between.
  std::optional<Stop> GoTo(std::int64_t step) {
    if (replay_.step() == step) return std::nullopt;
    if (const Status loaded = replay_.Load(step); !loaded) return StopBy(loaded.error(), step);
    while (replay_.step() < step) {
      if (hooks_.should_stop && hooks_.should_stop()) return Stop{{}, "was interrupted"};
      if (auto stop = CheckStep()) return stop;
    }
    return std::nullopt;
  }

  std::optional<Stop> CheckStep() {
    const std::int64_t next = replay_.step() + 1;
    if (const Status logs = replay_.CheckRoundings(); !logs) {
      is_in_hole_ = !logs.error().system;
      return StopBy(logs.error(), next);
    }
    auto replayed = replay_.Step(rounding::Scrutiny::kExamine);
    if (!replayed && replayed.error().system) return Stop{{}, replayed.error().message};
    if (!replayed)
      return Stop{Refutation{.reason = replayed.error().message, .step = next}, {}};  // of a log that is signed for
    const StepOutcome& outcome = *replayed;
    ++checked_;
    if (auto stop = CheckRounding(outcome)) return stop;
    if (hooks_.on_step) hooks_.on_step(checked_, replay_.step(), outcome.loss);
    const auto entry = replay_.EntryHere();
    if (!entry) return CheckUncommitted();
    const ReplayedEntry mine = replay_.Entry(outcome);
    if (mine.state_root == entry->state_root && mine.batch_root == entry->batch_root && mine.loss_bits == entry->loss_bits &&
        mine.rounding_root == entry->rounding_root) {
      return std::nullopt;
    }
    if (hooks_.on_note) hooks_.on_note(fmt::format("{} differs; looking closer", StepsOfEntry(entry->step)));
    return Stop{Explained(entry->step, mine), {}};
  }

  // A decision that no correct evaluation can have taken refutes the run by itself.
  std::optional<Stop> CheckRounding(const StepOutcome& outcome) {
    if (!outcome.rounding) return std::nullopt;
    const rounding::StepReport& report = outcome.rounding->report;
    if (!roundings_) roundings_.emplace(AuditRoundings{.symbols = prepared_.job.round_rule == RoundRule::kPaper});
    roundings_->log_bytes += report.log.size();
    roundings_->decisions += report.decisions;
    roundings_->corrections += report.corrections;
    roundings_->elements += report.elements;
    roundings_->examined = roundings_->examined && (report.examined || ignore_roundings_);
    if (hooks_.on_rounding) hooks_.on_rounding(*outcome.rounding);
    if (!report.inadmissible) return std::nullopt;
    const StepNodes nodes(prepared_.program);
    Refutation refutation{.reason = fmt::format("step {}: the rounding log {}", replay_.step(), Describe(*report.inadmissible)),
                          .step = replay_.step()};
    if (const auto node = outcome.rounding->inadmissible_node) {
      refutation.node = static_cast<std::int64_t>(*node);
      refutation.node_name = nodes.Describe(*node);
    }
    return Stop{std::move(refutation), {}};
  }

  // A closer look may need more memory than there is; that the step is false is known already.
  Refutation Explained(std::int64_t step, const ReplayedEntry& mine) {
    if (roundings_) {
      // Without the log's decisions an honest run may differ in everything but the samples that it took.
      const bool open = ignore_roundings_ && mine.batch_root == replay_.EntryHere()->batch_root;
      return {.reason = RoundedReason(step, mine), .open = open, .step = step};
    }
    try {
      return Explain(run_, replay_, mine, pool_);
    } catch (const std::bad_alloc&) {
      return {.reason = fmt::format("{} gives another state (too little memory to look closer)", StepsOfEntry(step)),
              .step = step};
    }
  }

  // An entry commits to all steps since the one before it.
  std::string StepsOfEntry(std::int64_t step) const {
    const auto& entries = claims_.log.entries();
    const auto here = std::ranges::find(entries, step, &LogEntry::step);
    const std::int64_t first = here == entries.begin() || here == entries.end() ? step : std::prev(here)->step + 1;
    return first == step ? fmt::format("step {}", step) : fmt::format("one of the steps {} to {}", first, step);
  }

  std::string RoundedReason(std::int64_t step, const ReplayedEntry& mine) const {
    const auto entry = replay_.EntryHere();
    const std::string which = StepsOfEntry(step);
    // Where everything else is alike, it is the loss, which is that of the last step.
    const bool loss_alone = mine.state_root == entry->state_root && mine.batch_root == entry->batch_root &&
                            mine.rounding_root == entry->rounding_root;
    const bool known = loss_alone || which == fmt::format("step {}", step);
    return fmt::format("step {}: {}{}", step, RoundedWords(mine),
                       known ? "" : fmt::format("; the difference arose in {}", which));
  }

  std::string RoundedWords(const ReplayedEntry& mine) const {
    const auto entry = replay_.EntryHere();
    if (mine.rounding_root != entry->rounding_root) return "the rounding log is not the one of the log";
    if (mine.batch_root != entry->batch_root) return "was run on other samples (batch root)";
    if (ignore_roundings_) {
      return "gives another state or loss than the run's, its rounding decisions left alone, as two honest runs may; an audit "
             "without --rule none tells";
    }
    if (mine.state_root == entry->state_root) {
      return fmt::format("gives loss {}, the run's log says {}", std::bit_cast<float>(mine.loss_bits),
                         std::bit_cast<float>(entry->loss_bits));
    }
    return "gives another state than the run's, its rounding decisions followed";
  }

  // A snapshot of a step that the log does not commit to is what an interrupted process left; it is signed for like the others.
  std::optional<Stop> CheckUncommitted() {
    const std::string path = run_.SnapshotPath(replay_.step());
    if (!Exists(path)) return std::nullopt;
    const auto file = Safetensors::Open(path);
    const auto info = file ? SnapshotInfoOf(*file) : tl::unexpected(file.error());
    const bool is_claimed = info && info->step == replay_.step() && info->trajectory == claims_.log.trajectory() &&
                            IsSignedBy(*info, run_.signer());
    // What is damaged has been found before the replay began.
    if (!is_claimed || info->state_root == replay_.Root()) return std::nullopt;
    Refutation refutation{.reason = fmt::format("{}: is not the state after step {}", path, replay_.step()),
                          .step = replay_.step()};
    // Of another job than an exact one it may be a state of another honest run of the same signer.
    refutation.damage = !IsExact(prepared_.job.precision);
    refutation.open = ignore_roundings_;
    if (!refutation.damage) return Stop{std::move(refutation), {}};
    if (!damage_) damage_ = std::move(refutation);
    return std::nullopt;
  }

  // What this machine cannot read is undecided; a file that is not as it must be is damaged.
  static Stop StopBy(const Error& error, std::int64_t step) {
    if (error.system) return {{}, error.message};
    return {Refutation{.reason = error.message, .damage = true, .step = step}, {}};
  }

  // The weights that were delivered are those of the last state, which is at hand here or in the last snapshot.
  std::optional<Stop> CheckEnd() {
    const std::int64_t last = prepared_.job.steps;
    State final_state;
    if (replay_.step() == last) {
      final_state = MoveTo(HostMemory(), std::move(replay_.state()));
    } else {
      auto snapshot = ReadSnapshot(run_.SnapshotPath(last), prepared_.program.state, pool_);
      if (!snapshot || snapshot->info.state_root != claims_.log.entries().back().state_root) return std::nullopt;  // damaged
      final_state = std::move(snapshot->state);
    }
    const auto checked = CheckWeights(run_, prepared_, claims_, final_state, pool_);
    if (!checked) return StopBy(checked.error(), last);
    if (*checked) return Stop{**checked, {}};
    return std::nullopt;
  }

  const RunDirectory& run_;
  const PreparedJob& prepared_;
  const Claims& claims_;
  ThreadPool& pool_;
  const AuditHooks& hooks_;
  Replay replay_;
  std::int64_t checked_ = 0;
  std::size_t segments_checked_ = 0;
  std::optional<AuditRoundings> roundings_;
  bool ignore_roundings_ = false;
  std::optional<Refutation> damage_;
  bool is_in_hole_ = false;       // the last stop was for damaged rounding logs
  std::optional<Stop> hole_;      // the first of these
  std::int64_t beyond_hole_ = 0;  // where the replay goes on after the last of them
};

// What `check` finds about steps that the run's log commits to.
template <class Check>
Result<std::optional<Refutation>> WithAuditor(const RunDirectory& run, const PreparedJob& prepared, std::int64_t first,
                                              std::int64_t last, Backend& backend, ThreadPool& pool, const AuditHooks& hooks,
                                              const Check& check) {
  const Job& job = prepared.job;
  if (job.precision == Precision::kFp32Vendor) return Err("{}", kVendorReason);
  if (first < 0 || last < first || last > job.steps) {
    return Err("steps {} to {}: the job has {}", first, last, job.steps);
  }
  ASSAY_ASSIGN(RunLog log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory));
  if (log.entries().empty() || log.entries().back().step < last)
    return Err("{}: the log has no entry for step {}", run.log_path(), last);
  const Claims claims{.log = std::move(log), .receipt = {}, .receipt_hash = {}};
  Auditor auditor(run, prepared, claims, backend, pool, hooks);
  std::optional<Stop> stop = check(auditor);
  if (stop && !stop->refutation) return Err("{}", stop->reason);
  return stop ? std::move(stop->refutation) : std::nullopt;
}

// Whether this machine can say anything by running steps again.
Status CanReplay(const PreparedJob& prepared, Backend& backend) {
  if (prepared.job.precision == Precision::kFp32Vendor) return Err("{}", kVendorReason);
  return CheckFits(prepared, backend);
}

AuditReport Refuted(AuditReport report, Refutation refutation) {
  report.verdict = refutation.open ? Verdict::kUnchecked : refutation.damage ? Verdict::kDamaged : Verdict::kRefuted;
  if (refutation.open) report.reason = refutation.reason;
  report.refutation = std::move(refutation);
  return report;
}

}  // namespace

std::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kVerified: return "verified";
    case Verdict::kRefuted: return "refuted";
    case Verdict::kUnchecked: return "unchecked";
    case Verdict::kDamaged: return "damaged";
  }
  return "unchecked";
}

std::vector<std::string> AssumedBy(const AuditOptions& options, const RunDirectory& run, const AuditReport& report) {
  std::vector<std::string> assumed;
  if (!options.expected.job) {
    assumed.push_back(
        fmt::format("the job is the run's own, {}; --job JOB insists on the one that was asked for", run.identity().job.hex()));
  }
  if (!options.expected.signer) {
    assumed.push_back(
        fmt::format("the signer is whoever the run names, {}; --signer KEY insists on one", run.signer().ToString()));
  }
  const auto drawn = static_cast<std::int64_t>(report.drawn.size());
  if (options.sample_percent && drawn < report.segments) {
    assumed.push_back(fmt::format("{} of {} segments were not {}replayed", report.segments - drawn, report.segments,
                                  report.verdict == Verdict::kVerified ? "drawn and not " : ""));
  }
  if (report.roundings && options.ignore_roundings) {
    assumed.push_back("the rounding log: close calls were decided here, and nothing that it says was looked at (--rule none)");
  } else if (report.roundings && !report.roundings->examined) {
    assumed.push_back(
        "the rounding log's decisions within twice the bound, and that none is left out: this device does not hold them "
        "against "
        "the truth, as a dispute does; an audit on the CPU does");
  }
  if (report.verdict == Verdict::kVerified) {
    assumed.push_back(
        "the validation loss in the metadata of model.safetensors, which the job does not fix, was not computed again");
  }
  return assumed;
}

Result<std::optional<Refutation>> AuditSteps(const RunDirectory& run, const PreparedJob& prepared, std::int64_t first,
                                             std::int64_t last, Backend& backend, ThreadPool& pool, const AuditHooks& hooks) {
  return WithAuditor(run, prepared, first, last, backend, pool, hooks,
                     [&](Auditor& auditor) { return auditor.CheckEntriesOf(first, last); });
}

Result<std::optional<Refutation>> AuditStretch(const RunDirectory& run, const PreparedJob& prepared, const Segment& stretch,
                                               Backend& backend, ThreadPool& pool, const AuditHooks& hooks) {
  return WithAuditor(run, prepared, stretch.begin, stretch.end, backend, pool, hooks,
                     [&](Auditor& auditor) { return auditor.CheckStretch(stretch); });
}

AuditReport Audit(const RunDirectory& run, const PreparedJob& prepared, const AuditOptions& options, Backend& backend,
                  ThreadPool& pool, const AuditHooks& hooks) {
  AuditReport report;
  auto checked = CheckClaims(run, prepared, options.expected, pool);
  if (!checked) {
    report.reason = checked.error().message;
    return report;
  }
  if (auto* refuted = std::get_if<Refutation>(&*checked)) return Refuted(std::move(report), std::move(*refuted));
  const Claims& claims = std::get<Claims>(*checked);
  if (const Status can = CanReplay(prepared, backend); !can) {
    if (claims.lie || claims.damage) return Refuted(std::move(report), claims.lie ? *claims.lie : *claims.damage);
    report.reason = can.error().message;
    return report;
  }

  // By the receipt: which segments there are is signed for before any is drawn.
  std::vector<Segment> segments = SegmentsOf(prepared.job.steps, claims.receipt.snapshot_every);
  report.segments = static_cast<std::int64_t>(segments.size());
  const double percent = options.sample_percent.value_or(100);
  report.drawn = DrawSegments(claims.receipt_hash, options.nonce, report.segments, SampleSize(report.segments, percent));
  if (options.sample_percent) {
    std::vector<Segment> drawn;
    for (const std::int64_t i : report.drawn) drawn.push_back(segments[static_cast<std::size_t>(i)]);
    segments = std::move(drawn);
  }
  Auditor auditor(run, prepared, claims, backend, pool, hooks);
  if (options.ignore_roundings) auditor.IgnoreRoundings();
  const std::optional<Stop> stop = auditor.Check(segments);
  report.steps_checked = auditor.steps_checked();
  report.drawn.resize(std::min(report.drawn.size(), auditor.segments_checked()));
  report.roundings = auditor.roundings();
  // Guilt needs whole parts alone, and is said first; what a damaged copy leaves open, a whole one may tell.
  const bool is_guilty = stop && stop->refutation && !stop->refutation->damage && !stop->refutation->open;
  if (is_guilty) return Refuted(std::move(report), *stop->refutation);
  if (claims.lie) return Refuted(std::move(report), *claims.lie);
  const bool is_stopped_by_damage = stop && stop->refutation && stop->refutation->damage;  // which tells the step, too
  if (claims.damage && !is_stopped_by_damage) return Refuted(std::move(report), *claims.damage);
  if (stop && stop->refutation) return Refuted(std::move(report), *stop->refutation);
  if (stop) {
    report.reason = stop->reason;
    return report;
  }
  if (auditor.damage()) return Refuted(std::move(report), *auditor.damage());
  report.verdict = Verdict::kVerified;
  return report;
}

}  // namespace assay
