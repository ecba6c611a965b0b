// The program `rounding_observe`: runs steps of a rounded job in two processes that compute differently and compares every element of every operator before it is
// rounded: how many differ, and the largest difference beside what docs/ROUNDING.md allows.
//
//   rounding_observe JOB [--steps N] [--other PROGRAM] [--threads N] [--kernels CORE] [--formulas] [--perturbation X], and the last four as --other-...
//
// The other process runs PROGRAM: this program, or rounding_observe_other, which is compiled to compute otherwise. CORE is OpenBLAS's name of a processor.
// Exit status: 0 no difference exceeds its bound, 1 one does, 2 bad input or usage.
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "assay/backend/openblas/openblas_backend.h"
#include "assay/exec/step_nodes.h"
#include "assay/train/stepper.h"
#include "paired_backend.h"

namespace assay::observe {
namespace {

constexpr int kExitBeyond = 1, kExitBadInput = 2;

struct Side {
  std::string kernels;
  int threads = 1;
  bool formulas = false;
  double perturbation = 0;
};

struct Options {
  std::string job, lead, other = "/proc/self/exe";
  std::int64_t steps = 1;
  Side here, there;
};

Result<PreparedJob> Prepared(const Options& options) {
  ASSAY_ASSIGN(Job job, LoadJob(options.job));
  if (job.precision != Precision::kFp64Rounded) return Err("{}: expected precision fp64-rounded", options.job);
  return Prepare(std::move(job));
}

Status RunSteps(const Options& options, const PreparedJob& prepared, Role role, Channel& channel,
                std::map<std::string, Differences>& differences) {
  // OpenBLAS looks at it when it is loaded.
  if (!options.here.kernels.empty()) ::setenv("OPENBLAS_CORETYPE", options.here.kernels.c_str(), 1);
  ThreadPool pool(options.here.threads);
  rounded::TestHooks hooks;
  hooks.formulas = options.here.formulas;
  hooks.perturbation = options.here.perturbation;
  rounded::Options of_backend;
  of_backend.bits = static_cast<int>(prepared.job.round_bits);
  of_backend.hooks = &hooks;
  ASSAY_ASSIGN(const auto inner, rounded::MakeOpenBlasBackend(of_backend, pool));
  PairedBackend backend(*inner, hooks, role, channel);
  Stepper stepper(prepared, backend);
  stepper.IgnoreRoundings();
  ASSAY_ASSIGN(State state, StartingState(prepared));
  for (std::int64_t step = 0; step < options.steps; ++step) stepper.Run(state, stepper.Plan(step));
  differences = backend.differences();
  return {};
}

Result<int> Lead(const Options& options) {
  ASSAY_ASSIGN(Channel channel, Channel::Open(options.lead));
  ASSAY_ASSIGN(const PreparedJob prepared, Prepared(options));
  std::map<std::string, Differences> none;
  ASSAY_TRY(RunSteps(options, prepared, Role::kLeader, channel, none));
  return 0;
}

// Starts the leader.
Result<pid_t> Start(const Options& options, const std::string& channel) {
  std::vector<std::string> words = {options.other, options.job, "--steps",   fmt::format("{}", options.steps),
                                    "--lead",      channel,     "--threads", fmt::format("{}", options.there.threads)};
  if (!options.there.kernels.empty()) words.insert(words.end(), {"--kernels", options.there.kernels});
  if (options.there.formulas) words.emplace_back("--formulas");
  if (options.there.perturbation != 0) {
    words.insert(words.end(), {"--perturbation", fmt::format("{}", options.there.perturbation)});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return Err("fork: {}", std::strerror(errno));
  if (child == 0) {
    ::execv(arguments[0], arguments.data());
    ::_exit(kExitBadInput);
  }
  return child;
}

Result<int> Follow(const Options& options) {
  ASSAY_ASSIGN(const PreparedJob prepared, Prepared(options));
  std::size_t bytes = 1;
  const StepNodes nodes(prepared.program);
  for (std::size_t node = 0; node < nodes.size(); ++node) bytes = std::max(bytes, ChannelBytes(nodes.Instance(node)));
  std::string theirs;
  ASSAY_ASSIGN(Channel channel, Channel::Make(bytes, theirs));
  ASSAY_ASSIGN(const pid_t child, Start(options, theirs));
  channel.CloseTheirs();
  std::map<std::string, Differences> differences;
  const Status done = RunSteps(options, prepared, Role::kFollower, channel, differences);
  {
    const Channel closed = std::move(channel);
  }  // lets the leader go if we failed
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) return Err("{}: the other process failed", options.other);
  ASSAY_TRY(done);
  fmt::print("{}", TableOf(differences));
  const bool beyond = std::ranges::any_of(differences, [](const auto& entry) { return entry.second.beyond > 0; });
  return beyond ? kExitBeyond : 0;
}

void AddSide(CLI::App& app, const std::string& prefix, Side& side) {
  app.add_option("--" + prefix + "threads", side.threads, "Threads")->check(CLI::Range(1, 1024));
  app.add_option("--" + prefix + "kernels", side.kernels, "OpenBLAS's name of the processor whose kernels to use");
  app.add_flag("--" + prefix + "formulas", side.formulas, "Every operator by its formula; slow");
  app.add_option("--" + prefix + "perturbation", side.perturbation, "Moves every result by up to this many times its bound");
}

int Main(int argc, char** argv) {
  CLI::App app{"Compares two evaluations of a rounded job, element by element, before they are rounded.", "rounding_observe"};
  Options options;
  app.add_option("job", options.job, "Job file")->required();
  app.add_option("--steps", options.steps, "How many steps")->check(CLI::Range(1, 1'000'000));
  app.add_option("--other", options.other, "The program of the other process");
  app.add_option("--lead", options.lead, "Used between the processes");
  AddSide(app, "", options.here);
  AddSide(app, "other-", options.there);
  CLI11_PARSE(app, argc, argv);
  const Result<int> result = options.lead.empty() ? Follow(options) : Lead(options);
  if (result) return *result;
  fmt::print(stderr, "rounding_observe: {}\n", result.error().message);
  return kExitBadInput;
}

}  // namespace
}  // namespace assay::observe

int main(int argc, char** argv) { return assay::observe::Main(argc, argv); }
