#include <limits>

#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/text.h"
#include "assay/graph/program_limits.h"
#include "assay/job/limits.h"
#include "assay/ops/table.h"
#include "assay/run/commit_schedule.h"
#include "assay/run/directory.h"
#include "assay/run/log.h"
#include "assay/run/snapshot_fit.h"
#include "assay/train/job_paths.h"
#include "assay/train/published_model.h"
#include "assay/train/weights.h"

namespace assay::cli {
namespace {

struct ExportOptions {
  std::string run;
  std::string folder;
  int threads = 0;
  bool json = false;
};

Result<Bytes> ReadNamed(const RunDirectory& run, std::string_view name, const Digest& digest, std::uint64_t most) {
  const std::string path = JoinPath(run.path(), name);
  ASSAY_ASSIGN(Bytes bytes, ReadFile(path, most));
  if (HashBytes(bytes) != digest) return Err("{}: is not the file that 'id' names; assay fsck says more", path);
  return bytes;
}

// What the run is bound to: neither its data nor what it started from has to be here.
Result<PreparedJob> BoundJob(const RunDirectory& run) {
  ASSAY_ASSIGN(const Bytes job, ReadNamed(run, "job.bin", run.header().job_bin, kMaxJobBytes));
  ASSAY_ASSIGN(const Bytes program, ReadNamed(run, "program.bin", run.header().program_bin, kMaxProgramBytes));
  ASSAY_ASSIGN(DecodedJob decoded, DecodeJob(job));
  PreparedJob out;
  out.job = std::move(decoded.job);
  ASSAY_ASSIGN(out.program, DecodeProgram(Ops(), program));
  ASSAY_TRY(CheckLimits(out.job, out.program));
  if (Encode(BuildProgram(out.job.model, out.job.optimizer, out.job.batch, DigitsOf(out.job.precision))) != program) {
    return Err("{}: is not the program of job.bin, as this version makes it", JoinPath(run.path(), "program.bin"));
  }
  return out;
}

// The newest state that the run's log leads up to.
Result<Snapshot> NewestState(const RunDirectory& run, const PreparedJob& bound, ThreadPool& pool) {
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory));
  const CommitSchedule schedule = CommitSchedule::Of(bound.job);
  const auto fits = [&](const SnapshotInfo& info) { return CheckFitsLog(info, log, schedule, run.signer()); };
  const auto note = [](const std::string& text) { fmt::print(stderr, "assay: {}\n", text); };
  ASSAY_ASSIGN(auto snapshot,
               run.NewestSnapshot(bound.program.state, std::numeric_limits<std::int64_t>::max(), pool, fits, note));
  if (!snapshot) return Err("{}: has no valid snapshot yet", run.path());
  return *std::move(snapshot);
}

Result<int> RunExport(const ExportOptions& options) {
  ASSAY_ASSIGN(const Compute compute, MakeCompute({.threads = options.threads, .simd = "ref"}));
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.run));
  ASSAY_ASSIGN(const PreparedJob bound, BoundJob(run));
  if (!std::holds_alternative<Gpt2Config>(bound.job.model) && !std::holds_alternative<LlamaConfig>(bound.job.model)) {
    return Err("{}: model.kind: expected a language model (gpt2 or llama), which this layout is for", options.run);
  }
  ASSAY_ASSIGN(const Snapshot snapshot, NewestState(run, bound, *compute.pool));
  // Only job.toml says where things lie.
  const auto written = LoadRunJob(run, "");
  const PublishedSources sources = written ? SourcesOf(*written) : PublishedSources();
  ASSAY_ASSIGN(const std::vector<std::string> files,
               WritePublishedModel(options.folder, bound.job.model, WeightsOf(bound, snapshot.state), sources));
  if (options.json) {
    fmt::print("{}\n", Dump({{"run", options.run},
                             {"folder", options.folder},
                             {"files", files},
                             {"step", snapshot.info.step},
                             {"state_root", snapshot.info.state_root.hex()},
                             {"job_id", run.identity().job.hex()}}));
    return kExitOk;
  }
  fmt::print("folder      {}\n", options.folder);
  for (const std::string& name : files) fmt::print("file        {}\n", name);
  fmt::print("step        {}\nstate root  {}\n", snapshot.info.step, snapshot.info.state_root.hex());
  if (std::ranges::find(files, "tokenizer.json") == files.end()) {
    fmt::print("note        no tokenizer.json is at hand: who loads the model has to know what its tokens mean\n");
  }
  return kExitOk;
}

}  // namespace

void AddExport(Arguments& app, Command& command) {
  auto options = std::make_shared<ExportOptions>();
  Subcommand sub = app.Add("export", "Write a trained language model in Hugging Face's layout");
  sub.Footer(
      "The folder gets config.json, model.safetensors (F32) and, where the vocabulary that the run was trained with is\n"
      "still where job.toml says, tokenizer.json and what belongs to it. Other programs load it, and so does a job:\n"
      "model.kind = \"huggingface\", model.path = DIR. The weights are those of the run's newest snapshot, bit for bit:\n"
      "assay verify DIR/model.safetensors --receipt RUN/receipt.json says so of a finished run.\n"
      "\n"
      "Example: assay export runs/tuned --hf tuned");
  sub.Option("run", options->run, "Run directory").Required().Type("RUN");
  sub.Option("--hf", options->folder, "Folder to write; it must be new or empty").Required().NotEmpty().Type("DIR");
  sub.Option("--threads", options->threads, "Threads to use. Default: one per CPU core").Range(1, 1024).Type("N");
  sub.Flag("--json", options->json, "Print the result as one JSON object");
  SetCommand(sub, std::move(options), command, RunExport);
}

}  // namespace assay::cli
