#include "assay/run/fsck.h"

#include <algorithm>
#include <thread>

#include "assay/cli/colour.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/text.h"
#include "assay/train/trace.h"

namespace assay::cli {
namespace {

struct FsckOptions {
  std::string run;
  bool json = false;
};

// A finding is one line, whatever somebody called a file.
std::string WithoutControls(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

void Print(const std::string& run, const FsckReport& report) {
  for (const Finding& finding : report.findings)
    fmt::print("{}: {}\n", WithoutControls(finding.file), WithoutControls(finding.problem));
  const auto problems = std::ranges::count_if(report.findings, [](const Finding& f) { return f.damage || f.refutes; });
  const bool bad = report.verdict == FsckVerdict::kDamaged || report.verdict == FsckVerdict::kRefuted;
  fmt::print("{}: {}: {}, {}", run, Painted(Name(report.verdict), bad ? Tone::kBad : Tone::kGood, stdout),
             Plural(static_cast<std::int64_t>(report.files), "file"), Plural(static_cast<std::int64_t>(report.bytes), "byte"));
  if (report.verdict == FsckVerdict::kUnfinished) fmt::print("; no receipt yet: assay resume continues it");
  if (problems > 0) fmt::print("; {}", Plural(problems, "problem"));
  fmt::print("\n");
}

Result<int> RunFsck(const FsckOptions& options) {
  ThreadPool pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  ASSAY_ASSIGN(const FsckReport report, Fsck(options.run, pool, SummarizeTrace));
  if (options.json) {
    OrderedJson findings = OrderedJson::array();
    for (const Finding& finding : report.findings) {
      findings.push_back(
          {{"file", finding.file}, {"problem", finding.problem}, {"damage", finding.damage}, {"refutes", finding.refutes}});
    }
    const OrderedJson json = {{"verdict", std::string(Name(report.verdict))},
                              {"files", report.files},
                              {"bytes", report.bytes},
                              {"findings", findings}};
    fmt::print("{}\n", Dump(json));
  } else {
    Print(options.run, report);
  }
  switch (report.verdict) {
    case FsckVerdict::kWhole:
    case FsckVerdict::kUnfinished: return kExitOk;
    case FsckVerdict::kDamaged: return kExitDamaged;
    case FsckVerdict::kRefuted: return kExitRefuted;
  }
  return kExitDamaged;
}

}  // namespace

void AddFsck(Arguments& app, Command& command) {
  auto options = std::make_shared<FsckOptions>();
  Subcommand sub = app.Add("fsck", "Check every byte of a run directory, without its data and without training");
  sub.Footer(
      "Says what is wrong with which file. The last line says whether the run is whole, unfinished (sound, but without a\n"
      "receipt yet), damaged, or refuted: its signer signed what cannot be true. Exit status 0: whole or unfinished.\n"
      "1: refuted. 4: damaged. 2: it could not be checked.\n"
      "\n"
      "Example: assay fsck runs/mlp");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunFsck);
}

}  // namespace assay::cli
