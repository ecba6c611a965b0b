#include <chrono>
#include <cstdio>
#include <thread>

#include "assay/audit/telemetry_check.h"
#include "assay/cli/colour.h"
#include "assay/cli/command.h"
#include "assay/cli/damaged_run.h"
#include "assay/cli/json.h"
#include "assay/cli/rules_view.h"
#include "assay/cli/text.h"
#include "assay/train/interrupt.h"

namespace assay::cli {
namespace {

struct CheckOptions {
  std::string run;
  std::string rules = "strict";
  bool follow = false;
  bool json = false;
};

using monitor::RuleResult;
using monitor::RuleState;

OrderedJson JsonOf(const CheckOptions& options, const TelemetryReport& report) {
  OrderedJson rules = OrderedJson::array();
  for (const RuleResult& rule : report.rules) rules.push_back(RuleJson(rule));
  return {{"run", options.run},
          {"set", options.rules},
          {"verdict", std::string(Name(report.state))},
          {"stage", std::string(Name(report.stage))},
          {"step", report.step},
          {"steps", report.steps},
          {"samples", report.samples},
          {"reason", report.reason.empty() ? OrderedJson(nullptr) : OrderedJson(report.reason)},
          {"rules", std::move(rules)}};
}

void PrintText(const CheckOptions& options, const TelemetryReport& report) {
  if (!report.rules.empty()) fmt::print("{}\n", RuleHeading());
  for (const RuleResult& rule : report.rules) fmt::print("{}\n", RuleText(rule));
  const std::string so_far = report.stage == RunStage::kFinished ? "" : " so far";
  fmt::print("{}: {}{}: {} of {} steps, {}, {}{}\n", options.run, Painted(Name(report.state), ToneOf(report.state), stdout),
             so_far, report.step, report.steps, Plural(static_cast<std::int64_t>(report.samples), "sample"), Name(report.stage),
             report.reason.empty() ? "" : "; " + report.reason);
}

// What cannot be opened as a run and is one all the same is damaged.
Result<TelemetryReport> Look(const CheckOptions& options) {
  auto report = CheckTelemetry(options.run, options.rules == "seed" ? RuleSet::kSeed : RuleSet::kStrict);
  if (report || !IsDamagedRun(options.run, report.error())) return report;
  return TelemetryReport{.state = RuleState::kDamaged, .reason = report.error().message};
}

Result<int> RunCheckCommand(const CheckOptions& options) {
  constexpr std::chrono::milliseconds kEvery{1'000}, kNap{50};
  const InterruptGuard interrupt;
  while (true) {
    ASSAY_ASSIGN(const TelemetryReport report, Look(options));
    if (options.json) {
      fmt::print("{}\n", Dump(JsonOf(options, report)));
    } else {
      PrintText(options, report);
    }
    std::fflush(stdout);
    if (!options.follow || report.stage != RunStage::kGoingOn) return StatusOf(report.state);
    for (auto left = kEvery; left.count() > 0 && interrupt.signal() == 0; left -= kNap) std::this_thread::sleep_for(kNap);
    if (interrupt.signal() != 0) return 128 + interrupt.signal();
  }
}

}  // namespace

void AddCheck(Arguments& app, Command& command) {
  auto options = std::make_shared<CheckOptions>();
  Subcommand sub = app.Add("check", "Hold rules against a run's telemetry, also while it trains; cheap, and no audit");
  sub.Footer(
      "strict: the telemetry is one chain without a gap, signed for this run and its log; every iteration of the job is\n"
      "in it once, with the losses that the log commits to, bit for bit; committed states move; times, speed, processor\n"
      "time, energy and memory fit the work that the job takes and the speed that was measured.\n"
      "seed: the published rules, literally: the exact set of (epoch, iteration); at least 0.4 of the utilisation samples\n"
      "above their mean; memory that rises steeply at first and then stays flat. docs/CHECKS.md has the formulas and the\n"
      "holes of both. A run that satisfies them may still be false: assay audit runs its steps again.\n"
      "\n"
      "Exit status 0: every rule that applies accepts. 1: one refuses. 3: one cannot be checked, or there is no telemetry.\n"
      "4: the copy is damaged. 2: not a run.\n"
      "\n"
      "Example: assay check runs/mlp\n"
      "         assay check runs/mlp --rules seed --json\n"
      "         assay check runs/mlp --follow");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--rules", options->rules, "Which rules: seed or strict").OneOf({"seed", "strict"}).ShowDefault().Type("NAME");
  sub.Flag("--follow", options->follow, "While a process trains there, check again every second until it ends");
  sub.Flag("--json", options->json, "Print one JSON object (with --follow one a line)");
  SetCommand(sub, std::move(options), command, RunCheckCommand);
}

}  // namespace assay::cli
