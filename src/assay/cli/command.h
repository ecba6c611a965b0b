// What the subcommands share: how they register, the options for the machine, and how they report.
//
// A subcommand's Add function declares its options and, when the user chose it, stores what is to be done in `command`; it runs after
// all options have been read. Errors go to standard error as one line, "assay: ...", and with --json to standard output as an
// object; results go to standard output.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "assay/backend/backend.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/cli/arguments.h"
#include "assay/cli/exit_status.h"
#include "assay/cli/failure.h"
#include "assay/job/job.h"

namespace assay::cli {

using Command = std::function<int()>;

void AddTrain(Arguments& app, Command& command);
void AddResume(Arguments& app, Command& command);
void AddAudit(Arguments& app, Command& command);
void AddDispute(Arguments& app, Command& command);
void AddJudge(Arguments& app, Command& command);
void AddProvide(Arguments& app, Command& command);
void AddTrace(Arguments& app, Command& command);
void AddEval(Arguments& app, Command& command);
void AddSample(Arguments& app, Command& command);
void AddExport(Arguments& app, Command& command);
void AddShow(Arguments& app, Command& command);
void AddDiff(Arguments& app, Command& command);
void AddVerify(Arguments& app, Command& command);
void AddData(Arguments& app, Command& command);
void AddBench(Arguments& app, Command& command);
void AddLog(Arguments& app, Command& command);
void AddFsck(Arguments& app, Command& command);
void AddCheck(Arguments& app, Command& command);
void AddPev(Arguments& app, Command& command);
void AddOwn(Arguments& app, Command& command);
void AddRoundings(Arguments& app, Command& command);
void AddCalibrate(Arguments& app, Command& command);
void AddServe(Arguments& app, Command& command);
void AddAdmin(Arguments& app, Command& command);
void AddSubmit(Arguments& app, Command& command);
void AddJobs(Arguments& app, Command& command);
void AddWatch(Arguments& app, Command& command);
void AddFetch(Arguments& app, Command& command);
void AddCancel(Arguments& app, Command& command);
void AddKeygen(Arguments& app, Command& command);
void AddWorker(Arguments& app, Command& command);
void AddVersion(Arguments& app, Command& command);

// Makes a command of a function that returns Result<int> (the exit status) and its options. An error is reported in the form that the options ask for.
template <class Options>
void SetCommand(Subcommand subcommand, std::shared_ptr<Options> options, Command& command, Result<int> (*run)(const Options&)) {
  subcommand.OnChosen([options, &command, run] {
    command = [options, run] {
      bool json = false;
      if constexpr (requires { options->json; }) json = options->json;
      return RunReported([&] { return run(*options); }, json);
    };
  });
}

struct ComputeOptions {
  int threads = 0;  // 0: as many as the machine has
  std::string device = "cpu";
  std::string simd = "auto";
};
void AddComputeOptions(Subcommand& subcommand, ComputeOptions& options);

// The threads and the backend that a command computes with.
struct Compute {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Backend> backend;
  std::string device;
  std::string kernels;      // what --simd auto came to; "cuda" on a GPU
  bool simd_named = false;  // the user asked for certain kernels
};
Result<Compute> MakeCompute(const ComputeOptions& options);
// Puts the backend of the job's precision in place, where that is not the default one.
Status ComputeFor(const Job& job, Compute& compute);

}  // namespace assay::cli
