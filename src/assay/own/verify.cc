#include "assay/own/verify.h"

#include <algorithm>
#include <cmath>

#include "assay/audit/audit.h"
#include "assay/audit/replay.h"
#include "assay/monitor/iteration_rule.h"
#include "assay/own/make.h"
#include "assay/run/weights_root.h"
#include "assay/train/weights.h"

namespace assay::own {
namespace {

using monitor::Judged;
using monitor::Named;
using monitor::RuleResult;
using monitor::RuleState;

constexpr char kInterrupted[] = "was interrupted";

// An error that says something about the copy, and one that says something about this machine.
RuleResult Failed(std::string rule, const Error& error) {
  if (error.system) return Named(std::move(rule), "unreadable", RuleState::kUnchecked, error.message);
  return Named(std::move(rule), "damaged", RuleState::kDamaged, error.message);
}

class Verifier {
 public:
  Verifier(const OwnershipClaim& claim, const OpenedClaim& opened, const PreparedJob& prepared, const VerifyOptions& options,
           Backend& backend, ThreadPool& pool)
      : claim_(claim), opened_(opened), prepared_(prepared), options_(options), backend_(backend), pool_(pool) {}

  void Strict(OwnReport& report) {
    if (const Status drawn = DrawOthers(); !drawn) {
      report.rules.push_back(Failed("draw", drawn.error()));
      return;
    }
    report.rules.push_back(Draw());
    report.rules.push_back(Start(report));
    report.rules.push_back(Replayed(report));
    report.rules.push_back(Weights());
  }

  void Seed(OwnReport& report) { report.rules.push_back(Distances(report)); }

 private:
  std::int64_t TotalSteps() const {
    std::int64_t total = 0;
    for (const std::vector<Stretch>* list : {&claim_.stretches, &others_}) {
      for (const Stretch& stretch : *list) total += stretch.steps.end - stretch.steps.begin;
    }
    return total;
  }

  // What another nonce than the claim's draws, where the run itself is at hand.
  Status DrawOthers() {
    draws_others_ = options_.nonce && *options_.nonce != claim_.nonce && !options_.run.empty();
    if (!draws_others_) return {};
    ASSAY_ASSIGN(run_, RunDirectory::Open(options_.run));
    ASSAY_ASSIGN(const Bytes receipt, ReadFile(run_->receipt_path(), MaxBytesOf("receipt.json")));
    if (HashBytes(receipt) != opened_.receipt_hash()) return Err("{}: is not the run that the claim is about", options_.run);
    // Steps are held against the log of that directory, which must be the one that the receipt is for.
    ASSAY_ASSIGN(const Checkpoint head, RunLog::Head(run_->log_path(), run_->signer()));
    if (head.size != opened_.log().entries().size() || head.root != opened_.log().root())
      return Err("{}: has another log than the claim, and than its receipt is for", options_.run);
    const Receipt& said = opened_.receipt();
    for (const Segment& segment :
         DrawnStretches(said.steps, said.snapshot_every, opened_.receipt_hash(), *options_.nonce, kDraws)) {
      others_.push_back({segment, Chosen::kDrawn});
    }
    return {};
  }

  // The stretches that the receipt and the nonce draw are shown.
  RuleResult Draw() const {
    const Receipt& receipt = opened_.receipt();
    const auto segments = static_cast<std::int64_t>(SegmentsOf(receipt.steps, receipt.snapshot_every).size());
    const auto least = std::min<std::int64_t>(segments, kDraws);
    const std::int64_t drawn = std::min<std::int64_t>(claim_.drawn, segments);
    const auto figure = static_cast<double>(drawn), limit = static_cast<double>(least);
    if (draws_others_) {
      return Judged("draw", true, static_cast<double>(others_.size()), limit,
                    fmt::format("{} stretches are drawn by the nonce that was given, out of the run itself", others_.size()));
    }
    if (options_.nonce && *options_.nonce != claim_.nonce) {
      return Judged("draw", false, figure, limit,
                    fmt::format("was drawn by the nonce {}, not by the one that was given", Hex(claim_.nonce)));
    }
    if (std::int64_t{claim_.drawn} < least) {
      return Judged("draw", false, figure, limit,
                    fmt::format("{} stretches were drawn, expected at least {}", claim_.drawn, least));
    }
    for (const Segment& wanted :
         DrawnStretches(receipt.steps, receipt.snapshot_every, opened_.receipt_hash(), claim_.nonce, claim_.drawn)) {
      const bool shown = std::ranges::any_of(claim_.stretches, [&](const Stretch& stretch) {
        return stretch.steps == wanted && stretch.chosen != Chosen::kChange;
      });
      if (!shown) {
        return Judged("draw", false, figure, limit,
                      fmt::format("steps {} to {} were drawn and are not shown", wanted.begin + 1, wanted.end));
      }
    }
    const std::string words = fmt::format("the run has {} stretches; all {} that were drawn are shown", segments, drawn);
    if (!claim_.nonce.empty() && !options_.nonce) {
      return Named("draw", "own_nonce", RuleState::kUnchecked,
                   "the claim names a nonce, and only who gave it can tell that it was not chosen: name it with --nonce HEX",
                   figure, limit);
    }
    return Judged("draw", true, figure, limit, words);
  }

  // The starting state follows from the job: from its seed, or from the weights of the run that it descends from.
  RuleResult Start(const OwnReport& report) const {
    const Digest& committed = opened_.log().entries().front().state_root;
    const State from_seed = InitialState(prepared_.program, prepared_.job.seed, &pool_);
    if (!opened_.job().inputs.weights) {
      const bool holds = StateRootOf(prepared_.program.state, from_seed, pool_) == committed;
      return Judged("start", holds, std::nullopt, std::nullopt,
                    holds ? "the run starts from the values that its seed gives"
                          : "the run starts from other values than its seed gives");
    }
    if (report.lineage.ancestors.empty()) {
      return Judged("start", false, std::nullopt, std::nullopt,
                    "the run starts from a file of weights that no receipt accounts for");
    }
    const auto snapshot = ReadSnapshot(opened_.run().SnapshotPath(0), prepared_.program.state, pool_);
    if (!snapshot) return Failed("start", snapshot.error());
    if (snapshot->info.state_root != committed)
      return Named("start", "damaged", RuleState::kDamaged,
                   "the state before the first step is not the one that was committed to");
    const Receipt& parent = report.lineage.ancestors.front().receipt;
    const std::vector<TensorRef> weights = WeightsOf(prepared_, snapshot->state);
    if (WeightsRoot(weights, pool_) != parent.weights) {
      return Judged("start", false, std::nullopt, std::nullopt,
                    "the run starts from other weights than those of its parent's receipt");
    }
    for (std::size_t i = 0; i < prepared_.program.state.size(); ++i) {
      const std::string& name = prepared_.program.state[i].name;
      const bool is_weight = std::ranges::any_of(weights, [&](const TensorRef& weight) { return weight.name == name; });
      if (!is_weight && !std::ranges::equal(snapshot->state[i].bytes(), from_seed[i].bytes()))
        return Judged("start", false, std::nullopt, std::nullopt, fmt::format("{} does not start as the job says", name));
    }
    return Judged("start", true, std::nullopt, std::nullopt, "the run starts from the weights of its parent's receipt");
  }

  // A replay needs the state that a stretch begins with. The claim holds the one that it ends with, too, and that has to be the committed one.
  Status CheckEnd(const Stretch& stretch) const {
    const std::string path = opened_.run().SnapshotPath(stretch.steps.end);
    ASSAY_ASSIGN(const Snapshot end, ReadSnapshot(path, prepared_.program.state, pool_));
    const auto& entries = opened_.log().entries();
    const auto entry = std::ranges::find(entries, stretch.steps.end, &LogEntry::step);
    if (entry == entries.end() || end.info.state_root != entry->state_root)
      return Err("{}: is not the state that the log commits to", path.substr(path.rfind('/') + 1));
    return {};
  }

  // Bit for bit what was committed, by the audit's own eyes.
  RuleResult Replayed(OwnReport& report) {
    if (prepared_.job.precision == Precision::kFp32Vendor) {
      return Named("replay", "vendor", RuleState::kUnchecked,
                   "the vendor's kernels give other bits on another machine; nobody can run the steps again");
    }
    const std::int64_t total = TotalSteps();
    std::int64_t done = 0;
    std::size_t equal = 0;
    std::optional<RuleResult> trouble;
    const AuditHooks hooks{.on_step =
                               [&](std::int64_t, std::int64_t, float) {
                                 if (options_.on_step) options_.on_step(++done, total);
                               },
                           .should_stop = options_.should_stop};
    const auto look = [&](const RunDirectory& run, const Stretch& stretch, const Status& shown) {
      StretchResult result{.stretch = stretch};
      auto found = AuditStretch(run, prepared_, stretch.steps, backend_, pool_, hooks);
      if (!found) {
        result.reason = found.error().message;
        if (!trouble) trouble = Named("replay", "unreadable", RuleState::kUnchecked, result.reason);
      } else if (*found && (*found)->damage) {
        result.reason = (*found)->reason;
        trouble = Named("replay", "damaged", RuleState::kDamaged, result.reason);
      } else {
        result.equal = !*found;
        if (*found) result.reason = (*found)->reason;
        if (!*found) ++equal;
        if (!shown && !trouble) trouble = Failed("replay", shown.error());
      }
      report.stretches.push_back(std::move(result));
    };
    const auto stopped = [&] { return options_.should_stop && options_.should_stop(); };
    for (const Stretch& stretch : claim_.stretches) {
      if (!stopped()) look(opened_.run(), stretch, CheckEnd(stretch));
    }
    for (const Stretch& stretch : others_) {
      if (!stopped()) look(*run_, stretch, {});
    }
    const auto wrong = std::ranges::find_if(report.stretches, [](const StretchResult& one) { return one.equal == false; });
    const auto figure = static_cast<double>(equal), limit = static_cast<double>(claim_.stretches.size() + others_.size());
    // What is false stays false, whatever else cannot be told.
    if (wrong != report.stretches.end()) return Judged("replay", false, figure, limit, wrong->reason);
    if (trouble) return *trouble;
    if (claim_.stretches.empty())
      return Named("replay", "no_stretches", RuleState::kUnchecked, "the claim shows no stretch of the run");
    return Judged("replay", true, figure, limit,
                  fmt::format("{} steps of {} stretches give bit for bit what was committed", total, report.stretches.size()));
  }

  // The model that the receipt is for is the last state's.
  RuleResult Weights() const {
    const auto snapshot = ReadSnapshot(opened_.run().SnapshotPath(opened_.receipt().steps), prepared_.program.state, pool_);
    if (!snapshot) return Failed("weights", snapshot.error());
    if (snapshot->info.state_root != opened_.receipt().final_state_root)
      return Named("weights", "damaged", RuleState::kDamaged, "the last state is not the one that was committed to");
    const bool holds = WeightsRoot(WeightsOf(prepared_, snapshot->state), pool_) == opened_.receipt().weights;
    return Judged("weights", holds, std::nullopt, std::nullopt,
                  holds ? fmt::format("the model is that of the last state: {}", opened_.receipt().weights.hex())
                        : "the receipt's weights are not those of the last state");
  }

  // The published rule, of the stretches with the largest changes.
  RuleResult Distances(OwnReport& report) {
    if (prepared_.job.precision == Precision::kFp32Vendor) {
      return Named("distance", "vendor", RuleState::kUnchecked,
                   "this version cannot run the steps of an fp32-vendor job again");
    }
    const std::int64_t total = TotalSteps();
    std::int64_t done = 0;
    Replay replay(opened_.run(), prepared_, opened_.log(), backend_, pool_);
    double worst = 0;                // distance over limit
    std::optional<Segment> without;  // gradients that are finite; what is false stays false, whatever else cannot be told
    for (const Stretch& stretch : claim_.stretches) {
      if (stretch.chosen == Chosen::kDrawn) continue;  // the rule knows no draws
      auto result = DistanceAlong(replay, stretch, done, total);
      if (!result) return Failed("distance", result.error());
      if (!std::isfinite(*result->limit)) {
        if (!without) without = stretch.steps;
        continue;
      }
      const double ratio = *result->limit > 0 ? result->distance->l2 / *result->limit : result->distance->l2 > 0 ? 1e308 : 0;
      worst = std::isfinite(ratio) ? std::max(worst, ratio) : 1e308;
      report.stretches.push_back(std::move(*result));
    }
    if (report.stretches.empty() && !without)
      return Named("distance", "no_stretches", RuleState::kUnchecked, "the claim shows no stretch chosen for its change");
    const auto holds = [](const StretchResult& one) { return one.distance->l2 < *one.limit; };
    const auto wrong = std::ranges::find_if_not(report.stretches, holds);
    if (wrong == report.stretches.end() && without) {
      return Named("distance", "not_finite", RuleState::kUnchecked,
                   fmt::format("the gradients of steps {} to {} are not finite; the formula says nothing", without->begin + 1,
                               without->end));
    }
    if (wrong == report.stretches.end()) {
      return Judged(
          "distance", true, worst, 1,
          fmt::format("{} stretches end nearer to their replay than a mean gradient is long", report.stretches.size()));
    }
    const Segment& steps = wrong->stretch.steps;
    const std::string words = fmt::format("steps {} to {} end {:.4g} from their replay, the mean gradient is {:.4g} long",
                                          steps.begin + 1, steps.end, wrong->distance->l2, *wrong->limit);
    if (*wrong->limit == 0) return Named("distance", "no_gradient", RuleState::kRefused, words, worst, 1);
    return Judged("distance", false, worst, 1, words);
  }

  Result<StretchResult> DistanceAlong(Replay& replay, const Stretch& stretch, std::int64_t& done, std::int64_t total) const {
    const Segment& steps = stretch.steps;
    ASSAY_TRY(replay.Load(steps.begin));
    if (replay.step() != steps.begin)
      return Err("{}: is not a whole snapshot of the state that the log commits to", opened_.run().SnapshotPath(steps.begin));
    double gradients = 0;
    while (replay.step() < steps.end) {
      if (options_.should_stop && options_.should_stop()) return Err("{}", kInterrupted);
      ASSAY_ASSIGN(const StepOutcome outcome, replay.Step());
      for (const StepMetric& metric : outcome.metrics) {
        if (metric.name == "grad_norm") gradients += static_cast<double>(metric.value);
      }
      if (options_.on_step) options_.on_step(++done, total);
    }
    ASSAY_ASSIGN(const Snapshot end, ReadSnapshot(opened_.run().SnapshotPath(steps.end), prepared_.program.state, pool_));
    const HostState here(replay.state());
    return StretchResult{.stretch = stretch,
                         .distance = DistanceOf(WeightsOf(prepared_, end.state), WeightsOf(prepared_, here.get())),
                         .limit = gradients / static_cast<double>(steps.end - steps.begin)};
  }

  const OwnershipClaim& claim_;
  const OpenedClaim& opened_;
  const PreparedJob& prepared_;
  const VerifyOptions& options_;
  Backend& backend_;
  ThreadPool& pool_;
  bool draws_others_ = false;
  std::optional<RunDirectory> run_;  // of the claim, where it is at hand and needed
  std::vector<Stretch> others_;      // drawn from it
};

// Whether somebody could have tried seeds until one suited.
RuleResult SeedRule(const OpenedClaim& opened, const VerifyOptions& options) {
  const std::optional<Digest>& from = opened.job().job.seed_from;
  if (options.seed_from) {
    const bool holds = from == options.seed_from;
    return Judged("seed", holds, std::nullopt, std::nullopt,
                  holds  ? "the seed follows from the bytes that were given"
                  : from ? fmt::format("the seed follows from {:.16}, not from the bytes that were given", from->hex())
                         : "the seed is the claimant's choice");
  }
  if (from) return Judged("seed", true, std::nullopt, std::nullopt, fmt::format("the seed follows from {}", from->hex()));
  return Named("seed", "own_choice", RuleState::kNotApplicable, "the seed is the claimant's choice, who may have tried many");
}

RuleResult ParentRule(const OpenedClaim& opened, const Lineage& lineage) {
  if (!opened.job().inputs.weights)
    return Judged("parent", true, 0, std::nullopt, "the run descends from nobody: it starts from its seed");
  const auto count = static_cast<double>(lineage.ancestors.size());
  if (!lineage.complete) return Judged("parent", false, count, std::nullopt, lineage.problem);
  return Judged("parent", true, count, std::nullopt,
                fmt::format("the run descends from {} receipts, each for the weights that the next one starts from",
                            lineage.ancestors.size()));
}

void Assume(const OwnershipClaim& claim, const OpenedClaim& opened, const VerifyOptions& options, OwnReport& report) {
  if (!options.signer) {
    report.assumed.push_back(
        fmt::format("the claimant is whoever holds the key {}; --signer KEY insists on one", opened.receipt().signer));
  }
  const auto segments = static_cast<std::int64_t>(SegmentsOf(opened.receipt().steps, opened.receipt().snapshot_every).size());
  const auto shown = static_cast<std::int64_t>(claim.stretches.size());
  if (shown < segments)
    report.assumed.push_back(
        fmt::format("{} of {} stretches are not shown and were not run again", segments - shown, segments));
  if (options.rules == RuleSet::kSeed) return;
  if (!opened.job().job.seed_from && !opened.job().inputs.weights) {
    report.assumed.push_back("the seed is the claimant's choice: that it was not ground, only a job with seed_from shows");
  } else if (opened.job().job.seed_from && !options.seed_from) {
    report.assumed.push_back(
        "the bytes that the seed follows from were public and not the claimant's to choose; --seed-from FILE names them");
  }
  if (!options.receipt) {
    report.assumed.push_back(
        fmt::format("the nonce was given for this very receipt, {}: who knows a nonce can sign receipts until one draws what "
                    "suits; --receipt insists on one",
                    opened.receipt_hash().hex()));
  }
  if (claim.nonce.empty()) {
    report.assumed.push_back(
        "the draw follows from the receipt alone: who signs many receipts can choose among their draws; a nonce that the "
        "expert gives rules that out");
  }
}

}  // namespace

OwnReport VerifyClaim(const OwnershipClaim& claim, const OpenedClaim& opened, const VerifyOptions& options,
                      const BackendFor& backend_for, ThreadPool& pool) {
  OwnReport report;
  const bool strict = options.rules == RuleSet::kStrict;
  const auto signer = VerifyKey::Parse(opened.receipt().signer);
  if (options.job && opened.receipt().job != *options.job) {
    report.rules.push_back(
        Judged("signed", false, std::nullopt, std::nullopt,
               fmt::format("is a run of job {:.16}, not of {:.16}", opened.receipt().job.hex(), options.job->hex())));
  } else if (options.signer && signer && signer->point() != options.signer->point()) {
    report.rules.push_back(
        Judged("signed", false, std::nullopt, std::nullopt,
               fmt::format("is signed by {}, not by {}", opened.receipt().signer, options.signer->ToString())));
  } else if (options.receipt && opened.receipt_hash() != *options.receipt) {
    report.rules.push_back(Judged("signed", false, std::nullopt, std::nullopt,
                                  fmt::format("has the receipt {:.16}, not the one that was known before, {:.16}",
                                              opened.receipt_hash().hex(), options.receipt->hex())));
  } else {
    report.rules.push_back(Judged("signed", true, std::nullopt, std::nullopt,
                                  fmt::format("receipt, log and job are of one run, signed by {}", opened.receipt().signer)));
  }
  if (opened.job().inputs.weights) report.lineage = WalkLineage(*opened.job().inputs.weights, claim.parents);
  if (strict) {
    report.rules.push_back(SeedRule(opened, options));
    report.rules.push_back(ParentRule(opened, report.lineage));
  }
  const auto prepared = opened.Prepare(options.data, pool);
  const auto backend = prepared ? backend_for(prepared->job) : tl::unexpected(prepared.error());
  if (!backend) {
    report.rules.push_back(Named(strict ? "replay" : "distance", "no_data", RuleState::kUnchecked, backend.error().message));
  } else {
    Verifier verifier(claim, opened, *prepared, options, **backend, pool);
    if (strict) {
      verifier.Strict(report);
    } else {
      verifier.Seed(report);
    }
  }
  Assume(claim, opened, options, report);
  report.state = Worst(report.rules);
  return report;
}

}  // namespace assay::own
