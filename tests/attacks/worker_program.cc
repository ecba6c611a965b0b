#include <CLI/CLI.hpp>

#include "assay/cli/worker_command.h"
#include "worker_craft.h"

namespace assay::attacks {

int WorkerMain(int argc, char** argv) {
  CLI::App app{"A worker of the platform that cheats.", "cheat"};
  cli::Subcommand arguments(&app);
  cli::WorkerTerms terms;
  std::string name;
  bool worker = false;
  std::int64_t at = 0;
  int stall_s = 90;
  arguments.Option("name", name, "The cheat").Required().Type("NAME");
  arguments.Flag("--worker", worker, "Work for a coordinator");
  arguments.Option("--at", at, "The step, counted from 1, where the cheat begins; default: the middle of the job")
      .Range(std::int64_t{1}, std::int64_t{0xffffffff})
      .Type("STEP");
  arguments.Option("--stall", stall_s, "How long `late` stands still").Range(1, 86400).ShowDefault().Type("S");
  cli::AddWorkerOptions(arguments, terms);
  if (const auto status = cli::ParseAlone(app, argc, argv)) return *status;
  const auto craft = MakeWorkerCheat(name, at, stall_s);
  const Result<int> result = craft ? cli::RunWorkerWith(terms, **craft) : Result<int>(tl::unexpected(craft.error()));
  if (result) return *result;
  fmt::print(stderr, "cheat: {}\n", result.error().message);
  return cli::kExitBadInput;
}

}  // namespace assay::attacks
