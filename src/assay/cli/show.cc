#include <optional>

#include "assay/cli/command.h"
#include "assay/cli/describe.h"
#include "assay/cli/load.h"
#include "assay/cli/text.h"

namespace assay::cli {
namespace {

constexpr int kExitFailedVerification = 1;

struct ShowOptions {
  std::string target;
  bool tensors = false;
  bool json = false;
};

Result<int> ShowJob(const ShowOptions& options) {
  ASSAY_ASSIGN(Job job, LoadJob(options.target));
  ASSAY_ASSIGN(const PreparedJob prepared, Prepare(std::move(job)));
  if (options.json) {
    fmt::print("{}\n", Dump(JobJson(prepared)));
    return kExitOk;
  }
  fmt::print("{}", JobText(prepared));
  if (options.tensors) {
    std::vector<std::vector<std::string>> rows = {{"tensor", "type", "bytes"}};
    for (const StateSpec& spec : prepared.program.state) {
      rows.push_back({spec.name, ToString(spec.type), Grouped(static_cast<std::int64_t>(spec.type.bytes()))});
    }
    fmt::print("\n{}", Table(rows));
  }
  return kExitOk;
}

Result<int> ShowRun(const ShowOptions& options) {
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.target));
  ASSAY_ASSIGN(Job job, LoadJob(run.job_path()));
  ASSAY_ASSIGN(const PreparedJob prepared, Prepare(std::move(job)));
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run.SnapshotSteps());
  std::optional<SnapshotInfo> newest;
  if (!steps.empty()) {
    ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(run.SnapshotPath(steps.back())));
    ASSAY_ASSIGN(newest, SnapshotInfoOf(file));
  }
  const bool complete = newest && newest->step >= prepared.job.steps;
  if (options.json) {
    OrderedJson json = JobJson(prepared);
    json["run"] = {{"path", run.path()},
                   {"job_id", run.identity().job.hex()},
                   {"complete", complete},
                   {"step", newest ? newest->step : 0},
                   {"loss", newest ? OrderedJson(newest->loss) : OrderedJson(nullptr)},
                   {"val_loss", newest ? ToJson(newest->validation_loss) : OrderedJson(nullptr)},
                   {"state_root", newest ? OrderedJson(newest->state_root.hex()) : OrderedJson(nullptr)},
                   {"snapshots", steps}};
    fmt::print("{}\n", Dump(json));
    return kExitOk;
  }
  fmt::print("{}", JobText(prepared));
  if (!newest) {
    fmt::print("{:<12} no snapshot yet\n", "run");
    return kExitOk;
  }
  fmt::print("{:<12} {} of {} steps{}\n", "run", newest->step, prepared.job.steps, complete ? ", complete" : "");
  fmt::print("{:<12} {:.6f}\n", "loss", newest->loss);
  if (newest->validation_loss) fmt::print("{:<12} {:.6f}\n", "val loss", *newest->validation_loss);
  fmt::print("{:<12} {}\n{:<12} {}\n", "state root", newest->state_root.hex(), "snapshots", steps.size());
  return kExitOk;
}

// The state root that the file's own tensors hash to; a file with element types that a state cannot have, has none.
std::optional<Digest> RootOf(const Safetensors& file) {
  std::vector<StateSpec> specs;
  std::vector<Tensor> tensors;
  for (const StoredTensor& stored : file.tensors()) {
    auto tensor = stored.Load();
    if (!tensor) return std::nullopt;
    specs.push_back({stored.name, tensor->type(), {}});
    tensors.push_back(std::move(*tensor));
  }
  ThreadPool pool(1);
  return StateRootOf(specs, tensors, pool);
}

// Whether a snapshot's tensors hash to the root that it names; nothing to say of other files.
std::optional<bool> RootHolds(const Safetensors& file, const std::optional<Digest>& root) {
  const auto info = SnapshotInfoOf(file);
  if (!info || info->weights_only || !root) return std::nullopt;
  return *root == info->state_root;
}

Result<int> ShowFile(const ShowOptions& options) {
  ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(options.target));
  const std::optional<Digest> root = RootOf(file);
  const std::optional<bool> holds = RootHolds(file, root);
  const int status = holds.value_or(true) ? kExitOk : kExitFailedVerification;
  std::vector<std::vector<std::string>> rows = {{"tensor", "type", "bytes"}};
  std::int64_t bytes = 0;
  std::int64_t elements = 0;
  OrderedJson tensors = OrderedJson::array();
  for (const StoredTensor& tensor : file.tensors()) {
    const auto size = static_cast<std::int64_t>(tensor.data.size());
    const auto dims = tensor.shape.dims();
    bytes += size;
    elements += tensor.shape.elements();
    rows.push_back({tensor.name, fmt::format("{}{}", Name(tensor.type), ToString(tensor.shape)), Grouped(size)});
    tensors.push_back({{"name", tensor.name},
                       {"dtype", std::string(Name(tensor.type))},
                       {"shape", std::vector<std::int64_t>(dims.begin(), dims.end())}});
  }
  if (options.json) {
    const OrderedJson json = {{"file", options.target},
                              {"metadata", file.metadata()},
                              {"tensors_root", root ? OrderedJson(root->hex()) : OrderedJson(nullptr)},
                              {"state_root_holds", ToJson(holds)},
                              {"elements", elements},
                              {"bytes", bytes},
                              {"tensors", tensors}};
    fmt::print("{}\n", Dump(json));
    return status;
  }
  fmt::print("{:<12} {} tensors, {} elements, {}\n", "file", file.tensors().size(), Grouped(elements),
             ByteCount(static_cast<double>(bytes)));
  if (const auto info = SnapshotInfoOf(file)) {
    fmt::print("{:<12} {}\n{:<12} {}\n{:<12} {:.6f}\n", "step", info->step, "job id", info->job.hex(), "loss", info->loss);
    if (info->validation_loss) fmt::print("{:<12} {:.6f}\n", "val loss", *info->validation_loss);
    fmt::print("{:<12} {}{}\n", "state root", info->state_root.hex(),
               !holds   ? " (of the whole state)"
               : *holds ? " (checked)"
                        : " (WRONG: the tensors do not hash to it)");
  }
  if (root && !holds.value_or(false)) fmt::print("{:<12} {}\n", "tensors root", root->hex());
  fmt::print("\n{}", Table(rows));
  return status;
}

Result<int> RunShow(const ShowOptions& options) {
  if (!Exists(options.target)) return Err("{}: no such run, job file or safetensors file", options.target);
  if (IsDirectory(options.target)) return ShowRun(options);
  if (options.target.ends_with(".safetensors")) return ShowFile(options);
  return ShowJob(options);
}

}  // namespace

void AddShow(Arguments& app, Command& command) {
  auto options = std::make_shared<ShowOptions>();
  Subcommand sub = app.Add("show", "What a job, a run or a safetensors file is");
  sub.Footer(
      "Examples: assay show examples/gpt2-124m.toml    model, parameters, work and memory of a step, job id\n"
      "          assay show runs/mlp                   the same, and how far the run has come\n"
      "          assay show model.safetensors          tensors and metadata; checks the state root of a snapshot");
  sub.Option("target", options->target, "Run directory, job file or .safetensors file").Required().Type("WHAT");
  sub.Flag("--tensors", options->tensors, "Also list every tensor of a job's state");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunShow);
}

}  // namespace assay::cli
