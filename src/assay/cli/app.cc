#include "assay/cli/app.h"

#include <signal.h>

#include <algorithm>
#include <thread>

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
    "  assay help COMMAND                              what a command can do\n";

constexpr char kExitStatus[] =
    "Exit status, of every command (docs/EXIT_STATUS.md):\n"
    "  0  verified, decided, agreed, whole, valid; evidence convicts whom it names; done\n"
    "  1  refuted, not valid; nobody stands; evidence does not convict\n"
    "  2  bad input or usage; a file given as evidence is not evidence\n"
    "  3  undecided or unchecked\n"
    "  4  damaged: a bad copy, which says nothing against who signed it\n";

}  // namespace

void AddComputeOptions(Subcommand& subcommand, ComputeOptions& options) {
  subcommand.Option("--device", options.device, "Where to compute: cpu, or cuda (an NVIDIA GPU). Both give the same bytes")
      .OneOf({"cpu", "cuda"})
      .ShowDefault()
      .Type("NAME");
  subcommand.Option("--threads", options.threads, "Threads to use. Default: one per CPU core").Range(1, 1024).Type("N");
  subcommand
      .Option("--simd", options.simd,
              "Kernels of fp32 jobs: auto, avx512, avx2, neon or ref (slow; it defines the bits). All give the same bytes")
      .OneOf({"auto", "ref", "avx2", "avx512", "neon"})
      .Type("NAME");
}

Result<Compute> MakeCompute(const ComputeOptions& options) {
  Compute compute;
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  compute.pool = std::make_unique<ThreadPool>(options.threads > 0 ? options.threads : std::max(1, cores));
  ASSAY_ASSIGN(compute.backend, MakeBackend(options.device, options.simd, *compute.pool));
  compute.device = options.device;
  compute.simd_named = options.simd != "auto";
  compute.kernels = compute.backend->name();
  return compute;
}

Status ComputeFor(const Job& job, Compute& compute) {
  if (IsExact(job.precision)) return {};
  if (compute.simd_named)
    return Err("--simd: is for jobs of precision fp32, int8x3 or int8x2; the kernels of other jobs are the vendor's");
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
  AddExport(app, command);
  AddShow(app, command);
  AddDiff(app, command);
  AddVerify(app, command);
  AddData(app, command);
  AddBench(app, command);
  AddLog(app, command);
  AddFsck(app, command);
  AddCheck(app, command);
  AddPev(app, command);
  AddOwn(app, command);
  AddRoundings(app, command);
  AddCalibrate(app, command);
  AddServe(app, command);
  AddAdmin(app, command);
  AddSubmit(app, command);
  AddJobs(app, command);
  AddWatch(app, command);
  AddFetch(app, command);
  AddCancel(app, command);
  AddKeygen(app, command);
  AddWorker(app, command);
  AddVersion(app, command);
  if (const auto status = app.Parse(argc, argv)) return *status;
  return command();
}

}  // namespace assay::cli
