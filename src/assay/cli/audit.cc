#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>

#include "assay/audit/audit.h"
#include "assay/base/quote.h"
#include "assay/cli/asked_job.h"
#include "assay/cli/colour.h"
#include "assay/cli/command.h"
#include "assay/cli/damaged_run.h"
#include "assay/cli/draw_options.h"
#include "assay/cli/json.h"
#include "assay/cli/progress.h"
#include "assay/cli/readable_run.h"
#include "assay/cli/signer.h"
#include "assay/cli/text.h"
#include "assay/cli/verification.h"
#include "assay/train/interrupt.h"
#include "assay/train/job_paths.h"

namespace assay::cli {
namespace {

struct AuditCommand {
  std::string run;
  std::string job;
  std::string data;
  std::string signer;
  std::string sample;
  std::string nonce;
  std::string rule = "log";
  ComputeOptions compute;
  bool json = false;
  bool quiet = false;
};

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Result<AuditOptions> OptionsOf(const AuditCommand& command) {
  AuditOptions options;
  if (!command.signer.empty()) {
    ASSAY_ASSIGN(options.expected.signer, ParseSigner(command.signer));
  }
  if (!command.sample.empty()) {
    ASSAY_ASSIGN(options.sample_percent, ParsePercent("--sample", command.sample));
    ASSAY_ASSIGN(options.nonce, ParseNonce(command.nonce));
  } else if (!command.nonce.empty()) {
    return Err("--nonce: belongs to --sample");
  }
  options.ignore_roundings = command.rule == "none";
  return options;
}

Result<PreparedJob> PrepareAsked(const AuditCommand& command, ThreadPool& pool) {
  ASSAY_TRY(CheckNamesJob(command.job));
  ASSAY_ASSIGN(Job job, LoadJob(command.job));
  ASSAY_TRY(UseData(job, command.data));
  return Prepare(std::move(job), &pool);
}

template <class T>
OrderedJson OrNull(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

int ExitStatus(Verdict verdict) {
  switch (verdict) {
    case Verdict::kVerified: return kExitOk;
    case Verdict::kRefuted: return kExitRefuted;
    case Verdict::kUnchecked: return kExitUndecided;
    case Verdict::kDamaged: return kExitDamaged;
  }
  return kExitUndecided;
}

// What the verdict about a run by the published rule leaves open.
std::string UpToSymbols(const AuditReport& report) {
  return fmt::format("only up to its {} symbols: which way the trainer says it rounded what its job's thresholds call close",
                     report.roundings->decisions);
}

void PrintJson(const AuditCommand& command, const AuditOptions& options, const AuditReport& report, const RunDirectory* run,
               double seconds, const std::string& error = "") {
  const Refutation refutation = report.refutation.value_or(Refutation{});
  OrderedJson json = {{"run", command.run}, {"verdict", Name(report.verdict)}, {"steps_checked", report.steps_checked}};
  json["step"] = OrNull(refutation.step);
  json["node"] = OrNull(refutation.node);
  json["node_name"] = refutation.node_name.empty() ? OrderedJson(nullptr) : OrderedJson(refutation.node_name);
  json["leaf"] = OrNull(refutation.leaf);
  json["first_result"] = refutation.first_result;
  const std::string& reason = report.refutation ? refutation.reason : report.reason;
  json["reason"] = reason.empty() ? OrderedJson(nullptr) : OrderedJson(reason);
  json["assumed"] = run == nullptr ? std::vector<std::string>() : AssumedBy(options, *run, report);
  json["segments"] = report.segments;
  json["segments_checked"] = report.drawn;
  json["nonce"] = options.sample_percent ? OrderedJson(Hex(options.nonce)) : OrderedJson(nullptr);
  if (report.roundings) {
    const auto of_log = [&](std::uint64_t count) {
      return options.ignore_roundings ? OrderedJson(nullptr) : OrderedJson(count);
    };
    json["corrections"] = of_log(report.roundings->corrections);
    json["decisions"] = of_log(report.roundings->decisions);
    json["rounded_elements"] = report.roundings->elements;
    json["log_bytes"] = of_log(report.roundings->log_bytes);
    if (report.roundings->symbols && !options.ignore_roundings) json["verified_up_to"] = UpToSymbols(report);
  }
  json["job_id"] = run == nullptr ? OrderedJson(nullptr) : OrderedJson(run->identity().job.hex());
  json["signer"] = run == nullptr ? OrderedJson(nullptr) : OrderedJson(run->signer().ToString());
  json["seconds"] = seconds;
  if (!error.empty()) json["error"] = error;
  fmt::print("{}\n", Dump(json));
}

void PrintChances(const AuditReport& report) {
  const auto drawn = static_cast<std::int64_t>(report.drawn.size());
  std::string text;
  for (const std::int64_t bad : {std::int64_t{1}, std::int64_t{2}, std::int64_t{5}, std::int64_t{10}}) {
    if (bad > report.segments) break;
    text += fmt::format("{}{} bad segment{}: {:.1f}%", text.empty() ? "" : ", ", bad, bad == 1 ? "" : "s",
                        100 * ChanceOfCatching(report.segments, drawn, bad));
  }
  fmt::print("chance      of catching {}\n", text);
}

void PrintVerdict(Verdict verdict, const std::string& words) {
  std::string name(Name(verdict));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  fmt::print("{} {}\n", PaintedWord(name, 11, ToneOf(ExitStatus(verdict)), stdout), words);
}

// Without a trace nobody knows which node went wrong: only the results at the end of the step can be compared.
void PrintWhere(const Refutation& refutation) {
  const std::string leaf = refutation.leaf ? fmt::format(", leaf {}", *refutation.leaf) : "";
  if (refutation.first_result) {
    fmt::print(
        "where       first differing result: that of node {} ({}){} of step {}; a trace of the step would show where it "
        "began\n",
        *refutation.node, refutation.node_name, leaf, *refutation.step);
  } else {
    fmt::print("where       step {}, node {} ({}){}\n", *refutation.step, *refutation.node, refutation.node_name, leaf);
  }
}

void PrintText(const AuditCommand& command, const AuditOptions& options, const AuditReport& report, const RunDirectory& run,
               double seconds) {
  switch (report.verdict) {
    case Verdict::kVerified:
      PrintVerdict(report.verdict, command.run + (report.roundings && report.roundings->symbols && !options.ignore_roundings
                                                      ? ", " + UpToSymbols(report)
                                                      : ""));
      break;
    case Verdict::kRefuted: PrintVerdict(report.verdict, report.refutation->reason); break;
    case Verdict::kUnchecked: PrintVerdict(report.verdict, report.reason); break;
    case Verdict::kDamaged: PrintVerdict(report.verdict, report.refutation->reason); break;
  }
  if (report.refutation && report.refutation->node) PrintWhere(*report.refutation);
  fmt::print("steps       {} replayed in {}\n", report.steps_checked, Duration(seconds));
  if (report.roundings && options.ignore_roundings) {
    fmt::print("roundings   {} elements rounded here; the run's rounding log was left alone\n",
               Grouped(static_cast<std::int64_t>(report.roundings->elements)));
  } else if (report.roundings && report.steps_checked > 0) {
    const auto& r = *report.roundings;
    fmt::print("roundings   {} close calls in the log, among {} rounded elements; {} decided otherwise here; {} bytes a step\n",
               Grouped(static_cast<std::int64_t>(r.decisions)), Grouped(static_cast<std::int64_t>(r.elements)), r.corrections,
               r.log_bytes / static_cast<std::uint64_t>(report.steps_checked));
  }
  if (options.sample_percent && report.segments > 0) {
    fmt::print("sample      {} of {} segments, nonce {}\n", report.drawn.size(), report.segments, Hex(options.nonce));
    if (report.verdict == Verdict::kVerified) PrintChances(report);
  }
  fmt::print("job         {}\nsigned by   {}\n", run.identity().job.hex(), run.signer().ToString());
  for (const std::string& assumed : AssumedBy(options, run, report)) fmt::print("assumed     {}\n", assumed);
}

// A run whose very header is not one is damaged, unless it is this machine that cannot read it.
Result<int> NotARun(const AuditCommand& command, const Error& error) {
  const Verdict verdict = error.system ? Verdict::kUnchecked : Verdict::kDamaged;
  AuditReport report{.verdict = verdict, .reason = error.message};
  if (!error.system) report.refutation = Refutation{.reason = error.message, .damage = true};
  if (command.json) {
    PrintJson(command, {}, report, nullptr, 0);
  } else {
    PrintVerdict(verdict, error.message);
  }
  return ExitStatus(verdict);
}

// Bad input still answers in the form that was asked for.
Result<int> BadInput(const AuditCommand& command, const Error& error) {
  if (command.json)
    PrintJson(command, {}, {.verdict = Verdict::kUnchecked, .reason = error.message}, nullptr, 0, error.message);
  return ReportFailure(error.message, false);
}

AuditReport Replayed(const AuditCommand& command, const RunDirectory& run, const PreparedJob& prepared,
                     const AuditOptions& options, const Compute& compute) {
  const InterruptGuard interrupt;
  std::optional<Progress> progress;
  const AuditHooks hooks{
      .on_start =
          [&](std::int64_t steps) {
            progress.emplace(stderr, ProgressModeFor(stderr, command.quiet), steps, ThroughputOf(prepared.job));
            progress->Start(0, Now());
          },
      .on_step =
          [&](std::int64_t done, std::int64_t step, float loss) {
            progress->Step({.step = done, .loss = loss, .lr = LearningRate(prepared.job.schedule, step - 1)}, Now());
          },
      .on_note =
          [&](const std::string& text) {
            if (!command.quiet) progress->Note(text);
          },
      .should_stop = [&] { return interrupt.signal() != 0; },
  };
  AuditReport report = Audit(run, prepared, options, *compute.backend, *compute.pool, hooks);
  if (progress) progress->Finish();
  return report;
}

// What the run's own files allow: an error is for this machine to answer for.
Result<AuditReport> RunOn(const AuditCommand& command, const RunDirectory& run, std::optional<PreparedJob> asked,
                          const AuditOptions& options, Compute& compute) {
  std::optional<FileLock> lock;  // of a copy that has no such file, nobody is training in it
  if (const std::string file = JoinPath(run.path(), "lock"); Exists(file)) {
    ASSAY_ASSIGN(lock, FileLock::TryShare(file));
    if (!lock) return Err("{}: another process is training in this directory", run.path());
  }
  ASSAY_ASSIGN(auto refuted, CheckHeader(run, options.expected));
  if (!refuted && !asked) {
    ASSAY_ASSIGN(refuted, CheckOwnJob(run));
    if (refuted) {
      ASSAY_ASSIGN(RunFaults faults, FindFaults(run, *compute.pool));
      if (faults.lie) refuted = std::move(faults.lie);
    }
  }
  if (refuted) {
    const Verdict verdict = refuted->damage ? Verdict::kDamaged : Verdict::kRefuted;
    return AuditReport{.verdict = verdict, .refutation = std::move(refuted)};
  }
  if (!asked) {
    ASSAY_ASSIGN(asked, PrepareRun(run, command.data, *compute.pool));
  }
  ASSAY_TRY(ComputeFor(asked->job, compute));
  return Replayed(command, run, *asked, options, compute);
}

// There is nothing to leave alone where nothing is rounded.
Status CheckRule(const AuditCommand& command, const RunDirectory& run, const std::optional<PreparedJob>& asked) {
  if (command.rule != "none") return {};
  const auto own = LoadRunJob(run, "");
  if (!asked && !own) return {};  // for the audit to say
  if ((asked ? asked->job : *own).precision == Precision::kFp64Rounded) return {};
  return Err("--rule none: is for jobs of precision fp64-rounded; this one has no rounding log");
}

// The job that was asked for is opened before anything of the run; the run's own only when what it says about itself holds together.
Result<int> RunAudit(const AuditCommand& command) {
  const double begin = Now();
  ASSAY_ASSIGN(Compute compute, MakeCompute(command.compute));
  auto options = OptionsOf(command);
  if (!options) return BadInput(command, options.error());
  if (!command.data.empty() && !Exists(command.data))
    return BadInput(command, {fmt::format("--data {}: No such file or directory", command.data)});
  std::optional<PreparedJob> asked;
  if (const auto id = Digest::FromHex(command.job); id && !Exists(command.job)) {
    options->expected.job = *id;
  } else if (!command.job.empty()) {
    auto prepared = PrepareAsked(command, *compute.pool);
    if (!prepared) return BadInput(command, prepared.error());
    asked = std::move(*prepared);
    options->expected.job = asked->identity.job;
  }
  if (IsDelivery(command.run)) return BadInput(command, NotARunButADelivery(command.run));
  if (const Status readable = CheckReadable(command.run); !readable) return BadInput(command, readable.error());
  const auto run = RunDirectory::Open(command.run);
  if (!run) {
    const bool is_run = IsDamagedRun(command.run, run.error()) || RunDirectory::IsRun(command.run);
    return is_run ? NotARun(command, run.error()) : BadInput(command, run.error());
  }
  if (const Status used = CheckRule(command, *run, asked); !used) return BadInput(command, used.error());
  auto report = RunOn(command, *run, std::move(asked), *options, compute);
  if (!report) report = AuditReport{.verdict = Verdict::kUnchecked, .reason = report.error().message};
  if (command.json) {
    PrintJson(command, *options, *report, &*run, Now() - begin);
  } else {
    PrintText(command, *options, *report, *run, Now() - begin);
  }
  return ExitStatus(report->verdict);
}

}  // namespace

void AddAudit(Arguments& app, Command& command) {
  auto options = std::make_shared<AuditCommand>();
  Subcommand sub = app.Add("audit", "Check a run: its claims, and its steps by running them again");
  sub.Footer(
      "Says VERIFIED, or names the first step that the job does not give and, where it can, the node, the 4 KiB leaf of\n"
      "its output and what was done instead. The verdict is the same on every machine, with any threads and kernels.\n"
      "With commit.every = 10 it knows the ten steps that an entry of the log stands for; a trace of the provider narrows\n"
      "them down. Without a trace it names the first result that differs, which is not always where it began.\n"
      "\n"
      "Exit status 0: verified. 1: refuted. 2: bad input. 3: could not be checked. 4: damaged, a file is not the one that\n"
      "was signed for, which is nobody's lie.\n"
      "\n"
      "A sample is drawn from the signed receipt and from a nonce that you choose once you have the receipt, so that\n"
      "nobody can know it earlier.\n"
      "\n"
      "Example: assay audit runs/mlp --job mlp.toml --signer provider.pub --sample 10%");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--job", options->job,
             "The job that was asked for: a file, or the 64 hex digits of its id. A run of another job is refuted")
      .Type("JOB");
  sub.Option("--signer", options->signer, "Public key, or a file with it, of whoever was asked. Another signer is refuted")
      .Type("KEY");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--sample", options->sample, "Replay only this share of the segments between snapshots, in percent: 10% or 10")
      .NotEmpty()
      .Type("P%");
  sub.Option("--nonce", options->nonce, "Hex digits from which the sample is drawn. Default: random, and printed").Type("HEX");
  sub.Option("--rule", options->rule,
             "Close calls of fp64-rounded jobs: `log` follows the run's rounding log; `none` decides them here, which shows "
             "where runs drift apart")
      .OneOf({"log", "none"})
      .ShowDefault()
      .Type("NAME");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print the result as one JSON object on the last line of standard output");
  sub.Flag("--quiet", options->quiet, "No progress");
  SetCommand(sub, std::move(options), command, RunAudit);
}

}  // namespace assay::cli
