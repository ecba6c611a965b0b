#include "assay/audit/pev.h"
#include "assay/audit/claims.h"
#include "assay/cli/backend.h"
#include "assay/cli/command.h"
#include "assay/cli/damaged_run.h"
#include "assay/cli/draw_options.h"
#include "assay/cli/rules_view.h"
#include "assay/cli/text.h"
#include "assay/train/interrupt.h"

namespace assay::cli {
namespace {

struct PevCommand {
  std::string run;
  std::string rules = "strict";
  std::string percent = "10";
  std::string data;
  std::string nonce;
  ComputeOptions compute;
  bool measure = false;
  bool json = false;
};

using monitor::RuleState;

OrderedJson CostJson(const PevCost& cost) {
  const double training = cost.step_seconds ? *cost.step_seconds * static_cast<double>(cost.steps) : 0;
  return {{"samples", cost.samples},
          {"flops_share", ToJson(cost.training_flops > 0 ? std::optional(cost.flops / cost.training_flops) : std::nullopt)},
          {"seconds", cost.seconds},
          {"forward_seconds", ToJson(cost.forward_seconds)},
          {"step_seconds", ToJson(cost.step_seconds)},
          {"seconds_share", ToJson(training > 0 ? std::optional(*cost.forward_seconds / training) : std::nullopt)}};
}

OrderedJson JsonOf(const PevCommand& command, const PevReport& report, const PevOptions& options) {
  OrderedJson rules = OrderedJson::array();
  for (const EpochRule& rule : report.rules) {
    OrderedJson row = {{"epoch", ToJson(rule.epoch)}};
    row.update(RuleJson(rule.result));
    rules.push_back(std::move(row));
  }
  return {{"run", command.run},
          {"set", command.rules},
          {"verdict", std::string(Name(report.state))},
          {"stage", std::string(Name(report.stage))},
          {"step", report.step},
          {"steps", report.steps},
          {"percent", options.percent},
          {"nonce", Hex(options.nonce)},
          {"losses_from", report.losses_from},
          {"compared", report.compared},
          {"reason", report.reason},
          {"cost", CostJson(report.cost)},
          {"rules", std::move(rules)}};
}

void PrintText(const PevCommand& command, const PevReport& report, const PevOptions& options) {
  for (const EpochRule& rule : report.rules) {
    fmt::print("{:<9} {}\n", rule.epoch ? fmt::format("epoch {}", *rule.epoch) : "run", RuleText(rule.result));
  }
  const PevCost& cost = report.cost;
  if (cost.training_flops > 0) {
    const std::string measured =
        cost.step_seconds && *cost.step_seconds > 0
            ? fmt::format(", {:.2f} % of its time here",
                          100 * *cost.forward_seconds / (*cost.step_seconds * static_cast<double>(cost.steps)))
            : "";
    fmt::print("cost         {} samples forward, {:.2f} % of the training's operations{}\n", cost.samples,
               100 * cost.flops / cost.training_flops, measured);
  }
  fmt::print("nonce        {}\n", Hex(options.nonce));
  const std::string so_far = report.stage == RunStage::kFinished ? "" : " so far";
  fmt::print("{}: {}{}: {} of {} steps{}\n", command.run, Painted(Name(report.state), ToneOf(report.state), stdout), so_far,
             report.step, report.steps, report.reason.empty() ? "" : "; " + report.reason);
}

PevReport Without(RuleState state, std::string reason) { return {.state = state, .reason = std::move(reason)}; }

// What is no error is a verdict; what cannot be told here is unchecked.
Result<PevReport> Look(const PevCommand& command, const PevOptions& options, Compute& compute) {
  const auto run = RunDirectory::Open(command.run);
  if (!run && IsDamagedRun(command.run, run.error())) return Without(RuleState::kDamaged, run.error().message);
  if (!run) return tl::unexpected(run.error());
  ASSAY_ASSIGN(const auto refuted, CheckOwnJob(*run));
  if (refuted) return Without(RuleState::kDamaged, refuted->reason);
  const auto prepared = PrepareRun(*run, command.data, *compute.pool);
  if (!prepared) return Without(RuleState::kUnchecked, prepared.error().message);
  const auto asked = CheckAsked(*run, *prepared, {});
  if (!asked) return Without(RuleState::kUnchecked, asked.error().message);
  if (*asked) return Without(RuleState::kDamaged, (*asked)->reason);
  ASSAY_ASSIGN(const auto forward, MakeBackend(command.compute.device, command.compute.simd, *compute.pool));
  ASSAY_TRY(ComputeFor(prepared->job, compute));
  const bool exact = IsExact(prepared->job.precision);
  auto report = CheckEpochs(*run, *prepared, options, *compute.backend, exact ? *compute.backend : *forward, *compute.pool);
  if (!report) return Without(RuleState::kUnchecked, report.error().message);
  return report;
}

Result<int> RunPev(const PevCommand& command) {
  const InterruptGuard interrupt;
  PevOptions options{.rules = command.rules == "seed" ? RuleSet::kSeed : RuleSet::kStrict,
                     .measure = command.measure,
                     .should_stop = [&] { return interrupt.signal() != 0; }};
  ASSAY_ASSIGN(options.percent, ParsePercent("--percent", command.percent));
  ASSAY_ASSIGN(options.nonce, ParseNonce(command.nonce));
  ASSAY_ASSIGN(Compute compute, MakeCompute(command.compute));
  ASSAY_ASSIGN(const PevReport report, Look(command, options, compute));
  if (command.json) {
    fmt::print("{}\n", Dump(JsonOf(command, report, options)));
  } else {
    PrintText(command, report, options);
  }
  return StatusOf(report.state);
}

}  // namespace

void AddPev(Arguments& app, Command& command) {
  auto options = std::make_shared<PevCommand>();
  Subcommand sub = app.Add("pev", "Compute a share of a run's losses again, epoch by epoch: forward passes only, no audit");
  sub.Footer(
      "Looks at the snapshots nearest to the ends of epochs, and needs the data. What is drawn follows from the signed\n"
      "receipt (of a run that goes on: its log's checkpoint) and from your nonce, so that nobody could know it earlier.\n"
      "strict: the run starts where its job says; the losses of drawn steps that follow a snapshot are computed again and\n"
      "are bit for bit those that were told; at an epoch's snapshot the mean loss, with its 99.9 % confidence interval, is\n"
      "not above what the run told on the way there.\n"
      "seed: the published rule, literally: the mean of the epoch's losses and that of N % of its samples at the snapshot\n"
      "differ by less than the losses' standard deviation times 100/N. docs/CHECKS.md has the formulas and the holes.\n"
      "N = 10 costs at most 4 % of the training's operations; more where an epoch has few microbatches, because only whole\n"
      "ones are computed. What happened between two snapshots is not run again: assay audit does that.\n"
      "\n"
      "Exit status 0: every rule that applies accepts. 1: one refuses. 3: one cannot be checked. 4: the copy is damaged.\n"
      "2: not a run.\n"
      "\n"
      "Example: assay pev runs/mlp\n"
      "         assay pev runs/mlp --rules seed --percent 20 --nonce 0badcafe --json");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--percent", options->percent, "Share of each epoch's samples").ShowDefault().Type("N");
  sub.Option("--rules", options->rules, "Which rules: seed or strict").OneOf({"seed", "strict"}).ShowDefault().Type("NAME");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--nonce", options->nonce, "Hex digits from which is drawn. Default: random, and printed").Type("HEX");
  sub.Flag("--measure", options->measure, "Run a few whole steps, too, and tell what share of their time the check takes");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print the result as one JSON object on the last line of standard output");
  SetCommand(sub, std::move(options), command, RunPev);
}

}  // namespace assay::cli
