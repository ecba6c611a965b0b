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
    "  assay dispute runs/mlp runs/other               find out which of two runs is right, down to one 4 KiB block\n"
    "  assay show runs/mlp                             what was trained, how far, and its state root\n"
    "  assay COMMAND --help                            what a command can do\n";

constexpr char kExitStatus[] =
    "Exit status, of every command (docs/EXIT_STATUS.md):\n"
    "  0  verified, decided, agreed, whole, valid; evidence convicts whom it names; done\n"
    "  1  refuted, not valid; nobody stands; evidence does not convict\n"
    "  2  bad input or usage; evidence that is none\n"
    "  3  undecided or unchecked\n"
    "  4  damaged: a bad copy, which says nothing against who signed it\n";

}  // namespace

int Report(const Result<int>& result) {
  if (result) return *result;
  std::fflush(stdout);
  fmt::print(stderr, "assay: {}\n", result.error().message);
  return kExitBadInput;
}

void AddComputeOptions(Subcommand& subcommand, ComputeOptions& options) {
  subcommand.Option("--device", options.device, "Where to compute: cpu or cuda (an NVIDIA GPU); both give the same bytes")
      .OneOf({"cpu", "cuda"})
      .ShowDefault()
      .Type("NAME");
  subcommand.Option("--threads", options.threads, "Threads to use; default: one per CPU core").Range(1, 1024).Type("N");
  subcommand
      .Option("--simd", options.simd,
              "Kernels: auto, avx512, avx2, neon or ref (slow, defines the bits); all give the same bytes")
      .OneOf({"auto", "ref", "avx2", "avx512", "neon"})
      .Type("NAME");
}

Result<Compute> MakeCompute(const ComputeOptions& options) {
  Compute compute;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  compute.pool = std::make_unique<ThreadPool>(options.threads > 0 ? options.threads : std::max(1, cores));
  ASSAY_ASSIGN(compute.backend, MakeBackend(options.device, options.simd, *compute.pool));
  compute.device = options.device;
  compute.kernels = compute.backend->name();
  return compute;
}

Status ComputeFor(const Job& job, Compute& compute) {
  if (job.precision == Precision::kFp32) return {};
  ASSAY_ASSIGN(compute.backend, MakeVendorBackend(compute.device, job, *compute.pool));
  compute.kernels = compute.backend->name();
  return {};
}

int Main(int argc, char** argv) {
  // A limit on file sizes then shows up as a failed write, which is reported, instead of killing the process.
  ::signal(SIGXFSZ, SIG_IGN);

  Arguments app("assay", kDescription, kExitStatus, "assay " ASSAY_VERSION);
  Command command;
  AddTrain(app, command);
  AddResume(app, command);
  AddAudit(app, command);
  AddDispute(app, command);
  AddJudge(app, command);
  AddProvide(app, command);
  AddTrace(app, command);
  AddEval(app, command);
  AddSample(app, command);
  AddShow(app, command);
  AddDiff(app, command);
  AddVerify(app, command);
  AddBench(app, command);
  AddLog(app, command);
  AddFsck(app, command);
  AddRoundings(app, command);
  AddCalibrate(app, command);
  AddKeygen(app, command);
  AddVersion(app, command);
  if (const auto status = app.Parse(argc, argv)) return *status;
  // Nothing of ours throws; the libraries do when memory runs out or standard output cannot be written.
  try {
    const int status = command();
    if (std::fflush(stdout) != 0) return Report(Err("standard output: cannot write"));
    return status;
  } catch (const OutOfMemory& error) {
    return Report(Err("{}", error.what()));
  } catch (const std::bad_alloc&) {
    return Report(Err("out of memory"));
  } catch (const std::exception& error) {
    return Report(Err("{}", error.what()));
  }
}

}  // namespace assay::cli
