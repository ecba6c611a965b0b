// The program `cheat`: trains a job dishonestly, so that `assay audit` has something to find.
//
//   cheat --list
//   cheat NAME JOB --out DIR [--steps N] [--at STEP] [--key FILE] [--threads N]
//   cheat NAME --worker --work DIR [--at STEP] [options of `assay worker`]    is a worker of the platform that cheats
//   cheat NAME JOB --out DIR ... --provide [HOST:]PORT    answers for its run there, which it trains first unless it did before, as `assay provide` does, and lies where it lied
//
// Exit status: 0 the run is there, 2 bad input or usage.
#include <fmt/format.h>

#include <algorithm>

#include <CLI/CLI.hpp>

#include "assay/cli/command.h"
#include "assay/cli/listen_address.h"
#include "assay/cli/signer.h"
#include "assay/service/provider_http.h"
#include "cheat.h"
#include "conduct.h"
#include "worker_craft.h"

namespace assay::attacks {
namespace {

struct Options {
  std::string cheat, job, out, key, provide;
  std::int64_t steps = 0, at = 0;
  cli::ComputeOptions compute;
  bool list = false;
};

std::string_view Words(Where where) {
  switch (where) {
    case Where::kClaims: return "no step";
    case Where::kStart: return "step 0";
    case Where::kFirst: return "step 1";
    case Where::kClaimsAt:
    case Where::kAt: return "step AT";
    case Where::kLast: return "the last step";
  }
  return "";
}

std::string Words(const Finding& finding) {
  const std::string_view node = finding.node == Locating::kExact ? ", its node and leaf" : "";
  std::string reason(finding.reason);
  for (std::size_t bar = reason.find('|'); bar != std::string::npos; bar = reason.find('|')) reason.replace(bar, 1, "\" or \"");
  return fmt::format("{}{}{}: \"{}\"", finding.damage ? "damaged, " : "", Words(finding.where), node, reason);
}

void PrintList() {
  const auto print = [](const Cheat& cheat, std::string_view where) {
    fmt::print("{:<24} {}{}\n{:<24} audit: {}\n", cheat.name, where, cheat.what, "", Words(cheat.finding));
  };
  for (const Cheat& cheat : Cheats()) print(cheat, "");
  for (const Cheat& cheat : RoundedCheats()) print(cheat, "of rounded jobs: ");
  fmt::print("With --worker also:\n");
  for (const WorkerCheat& cheat : WorkerCheats()) fmt::print("  {:<22} {}\n", cheat.name, cheat.what);
}

Result<int> Provide(const Options& options, const Cheat& cheat, const CheatRequest& request, const SigningKey& key,
                    const cli::Compute& compute) {
  ASSAY_ASSIGN(const auto provider, CheatingProvider::Open(cheat, request, key, *compute.backend, *compute.pool));
  constexpr std::int64_t kBouts = 1 << 16;  // scripts dispute with it again and again
  ASSAY_TRY(service::ServeAccount(provider->account(), provider->key(),
                                  {.listen = cli::ListenAddress(options.provide), .open_to_all = kBouts}));
  return cli::kExitOk;
}

Result<int> Run(const Options& options) {
  const Cheat* cheat = FindCheat(options.cheat);
  if (cheat == nullptr) return Err("unknown cheat '{}'; cheat --list names them all", options.cheat);
  ASSAY_ASSIGN(Job job, LoadJob(options.job));
  if (options.steps > 0) job.steps = options.steps;
  ASSAY_ASSIGN(cli::Compute compute, cli::MakeCompute(options.compute));
  ASSAY_TRY(cli::ComputeFor(job, compute));
  ASSAY_ASSIGN(const SigningKey key, cli::OpenSigner(options.key));
  const CheatRequest request{.job = job, .out = options.out, .at = options.at};
  if (!options.provide.empty() && RunDirectory::IsRun(options.out)) return Provide(options, *cheat, request, key, compute);
  ASSAY_ASSIGN(const Lie lie, RunCheat(*cheat, request, key, *compute.backend, *compute.pool));
  fmt::print("cheat       {}: {}\n", cheat->name, cheat->what);
  if (lie.step) fmt::print("step        {}\n", *lie.step);
  if (lie.node) fmt::print("node        {}\nleaf        {}\n", *lie.node, lie.leaf.value_or(0));
  fmt::print("run         {}\n", options.out);
  std::fflush(stdout);
  return options.provide.empty() ? Result<int>(cli::kExitOk) : Provide(options, *cheat, request, key, compute);
}

int Main(int argc, char** argv) {
  if (std::any_of(argv, argv + argc, [](const char* argument) { return std::string_view(argument) == "--worker"; })) {
    return WorkerMain(argc, argv);
  }
  CLI::App app{"Trains a job dishonestly, so that `assay audit` has something to find.", "cheat"};
  cli::Subcommand arguments(&app);
  Options options;
  constexpr std::int64_t kMaxSteps = 0xffffffff;
  arguments.Flag("--list", options.list, "Every cheat: its name, what it does, what an audit must report");
  arguments.Option("name", options.cheat, "The cheat").Type("NAME");
  arguments.Option("job", options.job, "Job file").Type("JOB");
  arguments.Option("--out", options.out, "Run directory; must not hold a run").Type("DIR");
  bool worker = false;
  arguments.Flag(
      "--worker", worker,
      "Be a worker of the platform that cheats: cheat NAME --worker --work DIR [--at STEP] [options of assay worker]; "
      "cheat --worker --help lists them");
  arguments
      .Option("--provide", options.provide,
              "Answer a referee about the run in --out, which is trained first unless it is there")
      .Type("[HOST:]PORT");
  arguments.Option("--steps", options.steps, "Steps to train, instead of the job's number")
      .Range(std::int64_t{1}, kMaxSteps)
      .Type("N");
  arguments.Option("--at", options.at, "The step, counted from 1, where the cheat begins; default: the middle of the job")
      .Range(std::int64_t{1}, kMaxSteps)
      .Type("STEP");
  arguments.Option("--key", options.key, "Signing key (assay keygen); otherwise $ASSAY_KEY, or your own").Type("FILE");
  cli::AddComputeOptions(arguments, options.compute);
  if (const auto status = cli::ParseAlone(app, argc, argv)) return *status;
  if (options.list) {
    PrintList();
    return cli::kExitOk;
  }
  const Result<int> result = options.cheat.empty() || options.job.empty() || options.out.empty()
                                 ? Result<int>(Err("expected: cheat NAME JOB --out DIR (see: cheat --help, cheat --list)"))
                                 : Run(options);
  if (result) return *result;
  fmt::print(stderr, "cheat: {}\n", result.error().message);
  return cli::kExitBadInput;
}

}  // namespace
}  // namespace assay::attacks

int main(int argc, char** argv) { return assay::attacks::Main(argc, argv); }
