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
std::string OneLine(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return text;
}

void Print(const std::string& run, const FsckReport& report) {
  for (const Finding& finding : report.findings) fmt::print("{}: {}\n", OneLine(finding.file), OneLine(finding.problem));
  const auto damaged = std::ranges::count_if(report.findings, &Finding::damage);
  const Tone tone = report.verdict == FsckVerdict::kDamaged ? Tone::kBad : Tone::kGood;
  fmt::print("{}: {}: {}, {}", run, Painted(Name(report.verdict), tone, stdout),
             Plural(static_cast<std::int64_t>(report.files), "file"), Plural(static_cast<std::int64_t>(report.bytes), "byte"));
  if (report.verdict == FsckVerdict::kUnfinished) fmt::print("; no receipt yet: assay resume continues it");
  if (damaged > 0) fmt::print("; {}", Plural(damaged, "problem"));
  fmt::print("\n");
}

Result<int> RunFsck(const FsckOptions& options) {
  ThreadPool pool(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  ASSAY_ASSIGN(const FsckReport report, Fsck(options.run, pool, SummarizeTrace));
  if (options.json) {
    OrderedJson findings = OrderedJson::array();
    for (const Finding& finding : report.findings) {
      findings.push_back({{"file", finding.file}, {"problem", finding.problem}, {"damage", finding.damage}});
    }
    const OrderedJson json = {{"verdict", std::string(Name(report.verdict))},
                              {"files", report.files},
                              {"bytes", report.bytes},
                              {"findings", findings}};
    fmt::print("{}\n", Dump(json));
  } else {
    Print(options.run, report);
  }
  return report.verdict == FsckVerdict::kDamaged ? kExitDamaged : kExitOk;
}

}  // namespace

void AddFsck(Arguments& app, Command& command) {
  auto options = std::make_shared<FsckOptions>();
  Subcommand sub = app.Add("fsck", "Check every byte of a run directory, without its data and without training");
  sub.Footer(
      "Says what is wrong with which file. The last line says whether the run is whole, unfinished (sound, but without a\n"
      "receipt yet) or damaged. Exit status 0: whole or unfinished. 4: damaged. 2: it could not be checked.\n"
      "\n"
      "Example: assay fsck runs/mlp");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunFsck);
}

}  // namespace assay::cli
