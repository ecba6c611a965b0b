// assay calibrate: thresholds for the published rule of rounding, as a table for a job file.
#include "assay/audit/calibrate.h"

#include "assay/audit/claims.h"
#include "assay/cli/command.h"
#include "assay/cli/text.h"

namespace assay::cli {
namespace {

struct CalibrateOptions {
  std::string run;
  std::string data;
  ComputeOptions compute;
};

Result<int> RunCalibrate(const CalibrateOptions& options) {
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.run));
  ASSAY_ASSIGN(const PreparedJob prepared, PrepareRun(run, options.data, *compute.pool));
  ASSAY_TRY(ComputeFor(prepared.job, compute));
  if (compute.backend->AsHost() == nullptr) return Err("--device {}: thresholds are searched on the CPU alone", compute.device);
  ASSAY_ASSIGN(const Calibration found, Calibrate(run, prepared, *compute.backend, *compute.pool));
  fmt::print("# {}, {}\n[round_tau]\n", Plural(found.steps, "step"),
             Plural(static_cast<std::int64_t>(found.elements), "element"));
  for (const OpThreshold& op : found.ops) {
    fmt::print("{}{} = {}  # differed {}{}\n", op.differed == 0 ? "# " : "", op.op, op.tau,
               Plural(static_cast<std::int64_t>(op.differed), "time"),
               op.missed == 0 ? "" : fmt::format(", {} of them not close even so", op.missed));
  }
  return kExitOk;
}

}  // namespace

void AddCalibrate(Arguments& app, Command& command) {
  auto options = std::make_shared<CalibrateOptions>();
  Subcommand sub = app.Add("calibrate", "Find the thresholds of the published rounding rule between two machines");
  sub.Footer(
      "Train the job for a few steps with round_rule = \"bound\" on one machine and calibrate on another, whose kernels\n"
      "differ. Prints the table round_tau for a job with round_rule = \"paper\": for each op the largest threshold under\n"
      "which every element that the two rounded differently is written down. Ops that never differed are commented out;\n"
      "they keep a quarter of a spacing.\n"
      "\n"
      "Example: assay calibrate runs/from-elsewhere >>job.toml");
  sub.Option("run", options->run, "Run directory of an fp64-rounded job, trained elsewhere").Required().Type("RUN");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  AddComputeOptions(sub, options->compute);
  SetCommand(sub, std::move(options), command, RunCalibrate);
}

}  // namespace assay::cli
