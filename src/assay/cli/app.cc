#include "assay/cli/app.h"

#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "assay/cli/backend.h"
#include "assay/cli/command.h"

namespace assay::cli {
namespace {

constexpr char kDescription[] =
    "Assay: training that anyone can check, bit for bit.\n"
    "\n"
    "  assay train examples/mlp.toml --out runs/mlp    train; the same job gives the same bytes on every machine\n"
    "  assay audit runs/mlp                            check a run by running it again; names what is false\n"
    "  assay show runs/mlp                             what was trained, how far, and its state root\n"
    "  assay COMMAND --help                            what a command can do\n";

// CLI11 would only say that a command is missing.
Status CheckCommand(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (word.starts_with('-') || std::find(names.begin(), names.end(), word) != names.end()) return {};
  return Err("unknown command '{}', expected one of: {}", word, fmt::join(names, ", "));
}

// What CLI11 says, on one line and in our form.
int ReportUsage(const CLI::ParseError& error, const CLI::App& app) {
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0) {
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  }
  const auto chosen = app.get_subcommands();
  const std::string command = chosen.empty() ? "" : " " + chosen.front()->get_name();
  fmt::print(stderr, "assay:{} {} (see: assay{} --help)\n", command.empty() ? "" : command + ":", text, command);
  return kExitBadInput;
}

}  // namespace

int Report(const Result<int>& result) {
  if (result) return *result;
  std::fflush(stdout);
  fmt::print(stderr, "assay: {}\n", result.error().message);
  return kExitBadInput;
}

void AddComputeOptions(CLI::App& app, ComputeOptions& options) {
  app.add_option("--threads", options.threads, "Threads to use; default: one per CPU core")
      ->check(InRange(1, 1024))
      ->type_name("N");
  app.add_option("--simd", options.simd,
                 "Kernels: auto, avx512, avx2, neon or ref (slow, defines the bits); all give the same bytes")
      ->check(CLI::Validator(CLI::IsMember({"auto", "ref", "avx2", "avx512", "neon"})).description(""))
      ->type_name("NAME");
}

Result<Compute> MakeCompute(const ComputeOptions& options) {
  Compute compute;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  compute.pool = std::make_unique<ThreadPool>(options.threads > 0 ? options.threads : std::max(1, cores));
  ASSAY_ASSIGN(compute.backend, MakeBackend(options.simd, *compute.pool));
  compute.simd = options.simd == "auto" ? AvailableSimd().front() : options.simd;
  return compute;
}

int Main(int argc, char** argv) {
  // A limit on file sizes then shows up as a failed write, which is reported, instead of killing the process.
  ::signal(SIGXFSZ, SIG_IGN);

  CLI::App app{kDescription, "assay"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "assay " ASSAY_VERSION);
  Command command;
  AddTrain(app, command);
  AddAudit(app, command);
  AddTrace(app, command);
  AddEval(app, command);
  AddSample(app, command);
  AddShow(app, command);
  AddBench(app, command);
  AddLog(app, command);
  AddKeygen(app, command);
  AddVersion(app, command);
  if (argc > 1) {
    if (const Status known = CheckCommand(app, argv[1]); !known) return Report(tl::unexpected(known.error()));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return ReportUsage(error, app);
  }
  // Nothing of ours throws; the libraries do when memory runs out or standard output cannot be written.
  try {
    const int status = command();
    if (std::fflush(stdout) != 0) return Report(Err("standard output: cannot write"));
    return status;
  } catch (const std::bad_alloc&) {
    return Report(Err("out of memory"));
  } catch (const std::exception& error) {
    return Report(Err("{}", error.what()));
  }
}

}  // namespace assay::cli
