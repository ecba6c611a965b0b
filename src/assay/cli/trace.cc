#include "assay/train/trace.h"

#include "assay/audit/claims.h"
#include "assay/audit/replay.h"
#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/signer.h"

namespace assay::cli {
namespace {

struct TraceOptions {
  std::string run;
  std::string data;
  std::string key;
  std::int64_t step = 0;
  ComputeOptions compute;
  bool json = false;
};

Result<int> RunTrace(const TraceOptions& options) {
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.run));
  ASSAY_ASSIGN(const SigningKey key, OpenSignerOf(run.signer(), options.run, options.key));
  ASSAY_ASSIGN(const PreparedJob prepared, PrepareRun(run, options.data, *compute.pool));
  ASSAY_TRY(ComputeFor(prepared.job, compute));
  if (prepared.identity.data != run.identity().data)
    return Err("{}: the data here is not the data that the run committed to; name that data with --data PATH", options.run);
  if (prepared.identity != run.identity())
    return Err("{}: its job.toml is not the job it was begun with; assay fsck says more", options.run);
  if (options.step > prepared.job.steps) {
    return Err("--step: expected 1 .. {}, the steps of the job, got {}", prepared.job.steps, options.step);
  }
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory));
  Replay replay(run, prepared, log, *compute.backend, *compute.pool);
  ASSAY_TRY(replay.Load(options.step - 1));
  while (replay.step() < options.step - 1) ASSAY_TRY(replay.Step());
  ASSAY_TRY(replay.FollowRoundings());
  const Trace trace = TraceStep(replay.stepper(), replay.state(), options.step - 1);
  const std::string path = run.TracePath(options.step);
  ASSAY_TRY(MakeDirectories(path.substr(0, path.find_last_of('/'))));
  ASSAY_TRY(WriteFileAtomic(path, SignTrace(trace, key)));
  if (options.json) {
    const OrderedJson json = {{"trace", path},
                              {"step", options.step},
                              {"nodes", trace.nodes.size()},
                              {"before", trace.before.hex()},
                              {"after", trace.after.hex()}};
    fmt::print("{}\n", Dump(json));
  } else {
    fmt::print("trace       {}\nnodes       {}\nbefore      {}\nafter       {}\n", path, trace.nodes.size(), trace.before.hex(),
               trace.after.hex());
  }
  return kExitOk;
}

}  // namespace

void AddTrace(Arguments& app, Command& command) {
  auto options = std::make_shared<TraceOptions>();
  Subcommand sub = app.Add("trace", "Run one step of a run again and sign the hashes of every node's output");
  sub.Footer(
      "For providers: when an auditor finds that a step differs, its trace shows at which node. Written to RUN/traces.\n"
      "\n"
      "Example: assay trace runs/mlp --step 417");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--step", options->step, "The step, counted from 1")
      .Required()
      .Range(std::int64_t{1}, std::int64_t{0xffffffff})
      .Type("N");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--key", options->key, "The run's signing key. Default: $ASSAY_KEY, or your own if there is one").Type("FILE");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunTrace);
}

}  // namespace assay::cli
