#include <optional>

#include "assay/cli/command.h"
#include "assay/cli/damaged_run.h"
#include "assay/cli/describe.h"
#include "assay/cli/load.h"
#include "assay/cli/readable_run.h"
#include "assay/cli/text.h"
#include "assay/cli/verification.h"
#include "assay/ops/table.h"
#include "assay/run/follows.h"
#include "assay/run/receipt.h"
#include "assay/run/weights_root.h"
#include "assay/sign/key.h"
#include "assay/train/job_paths.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kMaxFixedBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;
constexpr std::uint64_t kMaxKeyBytes = 1 << 12;

struct ShowOptions {
  std::string target;
  std::string data;
  bool tensors = false;
  bool json = false;
};

void PrintTensors(const Program& program) {
  std::vector<std::vector<std::string>> rows = {{"tensor", "type", "bytes"}};
  for (const StateSpec& spec : program.state) {
    rows.push_back({spec.name, ToString(spec.type), Grouped(static_cast<std::int64_t>(spec.type.bytes()))});
  }
  fmt::print("\n{}", Table(rows));
}

OrderedJson TensorsJson(const Program& program) {
  OrderedJson tensors = OrderedJson::array();
  for (const StateSpec& spec : program.state) {
    const auto dims = spec.type.shape.dims();
    tensors.push_back({{"name", spec.name},
                       {"dtype", std::string(Name(spec.type.dtype))},
                       {"shape", std::vector<std::int64_t>(dims.begin(), dims.end())}});
  }
  return tensors;
}

// A key, by its public part; none: the file is no key.
Result<std::optional<int>> ShowKey(const ShowOptions& options) {
  const auto head = ReadFile(options.target, kMaxKeyBytes);
  if (!head) return std::nullopt;
  const bool is_private =
      std::string_view(reinterpret_cast<const char*>(head->data()), head->size()).starts_with("PRIVATE+KEY+");
  std::optional<VerifyKey> key;
  if (is_private) {
    ASSAY_ASSIGN(const SigningKey own, ReadSigningKey(options.target));
    key = own.verify_key();
  } else if (auto read = ReadVerifyKey(options.target)) {
    key = std::move(*read);
  }
  if (!key) return std::nullopt;
  const std::string_view kind = is_private ? "private key" : "public key";
  if (options.json) {
    fmt::print("{}\n", Dump({{"file", options.target},
                             {"kind", kind},
                             {"name", key->name()},
                             {"keyid", key->id()},
                             {"public_key", key->ToString()}}));
  } else {
    fmt::print("{:<12} {}\n{:<12} {}\n{:<12} {}\n", "kind", kind, "key id", key->id(), "public part", key->ToString());
  }
  return kExitOk;
}

// What is not even text in the form of a job file was not meant as one, unless its name says so.
Result<Job> LoadShownJob(const std::string& path) {
  auto job = LoadJob(path);
  if (job || path.ends_with(".toml")) return job;
  const std::string& why = job.error().message;
  const bool other = why.find("not valid TOML") != std::string::npos || why.find("not valid UTF-8") != std::string::npos ||
                     why.find("can stand in comments") != std::string::npos ||
                     why.find("a job file has at most") != std::string::npos;
  if (!other) return job;
  return Err("{}: is not a job file, .safetensors file, receipt, checkpoint, proof, evidence or key", path);
}

Result<int> ShowJob(const ShowOptions& options) {
  ASSAY_ASSIGN(const auto key, ShowKey(options));
  if (key) return *key;
  ASSAY_ASSIGN(Job job, LoadShownJob(options.target));
  ASSAY_TRY(UseData(job, options.data));
  ASSAY_ASSIGN(PreparedJob prepared, Prepare(std::move(job)));
  const JobView view = ViewOf(std::move(prepared));
  if (options.json) {
    OrderedJson json = JobJson(view);
    if (options.tensors) json["tensors"] = TensorsJson(view.program);
    fmt::print("{}\n", Dump(json));
    return kExitOk;
  }
  fmt::print("{}", JobText(view));
  if (options.tensors) PrintTensors(view.program);
  return kExitOk;
}

// A run as it was committed, and what is to be known about the files around it.
struct RunView {
  JobView job;
  std::optional<Follows> follows;  // whose rounding decisions it takes
  std::vector<std::string> notes;
  bool damaged = false;  // its receipt is none, or not of this run
};

Result<Bytes> ReadNamed(const RunDirectory& run, std::string_view name, const Digest& digest) {
  const std::string path = JoinPath(run.path(), name);
  ASSAY_ASSIGN(Bytes bytes, ReadFile(path, kMaxFixedBytes));
  if (HashBytes(bytes) != digest) return Err("{}: is not the file that 'id' names; assay fsck says more", path);
  return bytes;
}

// What is said about the data: nothing that would have to be taken from other data than the run's.
std::optional<std::string> DescribeData(const Job& job, const RunIdentity& identity, const std::string& named,
                                        std::vector<std::string>& notes) {
  const auto data = OpenData(job.data, job.batch.sequence, nullptr);
  if (!data) {
    notes.push_back(
        fmt::format("the data is not here ({}); nothing is said about it; --data PATH names it", data.error().message));
  } else if (data->root != identity.data) {
    notes.push_back(fmt::format("{} has the root {}, it is not that of the run, which is {}; nothing is said about it",
                                named.empty() ? "the data here" : "--data " + named, data->root.hex(), identity.data.hex()));
  } else {
    return data->train->description();
  }
  return std::nullopt;
}

// What is wrong with the receipt, if there is one. What else it says only an audit or fsck holds against the run.
Status CheckReceipt(const RunDirectory& run) {
  if (!IsTaken(run.receipt_path())) return {};
  ASSAY_ASSIGN(const Bytes bytes, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  ASSAY_ASSIGN(const Receipt receipt,
               OpenReceipt({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, run.signer(), run.receipt_path()));
  if (receipt.job != run.identity().job) return Err("{}: is for another job, {}", run.receipt_path(), receipt.job.hex());
  return {};
}

// Everything comes from what the job id binds: job.bin and program.bin. Only the name and where the data lies are in job.toml alone.
Result<RunView> ViewOf(const RunDirectory& run, const std::string& data) {
  ASSAY_ASSIGN(const Bytes job_bin, ReadNamed(run, "job.bin", run.header().job_bin));
  ASSAY_ASSIGN(const Bytes program_bin, ReadNamed(run, "program.bin", run.header().program_bin));
  ASSAY_ASSIGN(DecodedJob decoded, DecodeJob(job_bin));
  ASSAY_ASSIGN(Program program, DecodeProgram(Ops(), program_bin));
  RunView view{
      .job = {.job = std::move(decoded.job), .program = std::move(program), .identity = run.identity(), .data = std::nullopt},
      .follows = {},
      .notes = {}};
  if (const Status receipt = CheckReceipt(run); !receipt) {
    view.damaged = true;
    view.notes.push_back(fmt::format("DAMAGED: {}", receipt.error().message));
  }
  ASSAY_ASSIGN(view.follows, ReadFollows(run.follows_path()));
  const auto written = LoadRunJob(run, data);
  if (written) view.job.job.name = written->name;
  if (const auto toml = ReadNamed(run, "job.toml", run.header().job_toml); !toml || !written) {
    view.notes.push_back(
        fmt::format("job.toml is not the one that this run was made from ({}); shown is the job that was committed to",
                    toml ? written.error().message : toml.error().message));
  } else {
    view.job.data = DescribeData(*written, run.identity(), data, view.notes);
  }
  return view;
}

OrderedJson FollowsJson(const std::optional<Follows>& follows) {
  if (!follows) return nullptr;
  return {{"signer", follows->signer}, {"log", follows->log_root.hex()}};
}

OrderedJson RunJson(const RunDirectory& run, const RunView& view, const std::optional<SnapshotInfo>& newest,
                    const std::vector<std::int64_t>& steps) {
  OrderedJson json = JobJson(view.job);
  json["run"] = {{"path", run.path()},
                 {"job_id", run.identity().job.hex()},
                 {"signer", run.signer().ToString()},
                 {"complete", newest && newest->step >= view.job.job.steps},
                 {"step", newest ? newest->step : 0},
                 {"loss", newest ? OrderedJson(newest->loss) : OrderedJson(nullptr)},
                 {"val_loss", newest ? ToJson(newest->validation_loss) : OrderedJson(nullptr)},
                 {"state_root", newest ? OrderedJson(newest->state_root.hex()) : OrderedJson(nullptr)},
                 {"snapshots", steps},
                 {"follows", FollowsJson(view.follows)},
                 {"notes", view.notes}};
  return json;
}

// What the newest snapshot that can be read says of itself; others are damaged.
std::optional<SnapshotInfo> NewestOf(const RunDirectory& run, const std::vector<std::int64_t>& steps, RunView& view) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto file = Safetensors::Open(run.SnapshotPath(*step));
    auto info = file ? SnapshotInfoOf(*file) : tl::unexpected(file.error());
    if (info) return std::move(*info);
    view.damaged = true;
    view.notes.push_back(fmt::format("DAMAGED: {}", info.error().message));
  }
  return std::nullopt;
}

Result<int> ShowOpened(const ShowOptions& options, const RunDirectory& run) {
  ASSAY_ASSIGN(RunView view, ViewOf(run, options.data));
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run.SnapshotSteps());
  const std::optional<SnapshotInfo> newest = NewestOf(run, steps, view);
  if (options.json) {
    OrderedJson json = RunJson(run, view, newest, steps);
    if (options.tensors) json["tensors"] = TensorsJson(view.job.program);
    fmt::print("{}\n", Dump(json));
    return view.damaged ? kExitDamaged : kExitOk;
  }
  const std::int64_t all = view.job.job.steps;
  fmt::print("{}{:<12} {}\n", JobText(view.job), "signer", run.signer().ToString());
  if (newest) {
    fmt::print("{:<12} {} of {} steps{}\n", "run", newest->step, all, newest->step >= all ? ", complete" : "");
    fmt::print("{:<12} {:.6f}\n", "loss", newest->loss);
    if (newest->validation_loss) fmt::print("{:<12} {:.6f}\n", "val loss", *newest->validation_loss);
    fmt::print("{:<12} {}\n{:<12} {}\n", "state root", newest->state_root.hex(), "snapshots", steps.size());
  } else {
    fmt::print("{:<12} no snapshot yet\n", "run");
  }
  if (view.follows) {
    fmt::print("{:<12} the rounding log of {}, whose log has the root {}\n", "follows", view.follows->signer,
               view.follows->log_root.hex());
  }
  for (const std::string& note : view.notes) fmt::print("{:<12} {}\n", "note", note);
  if (options.tensors) PrintTensors(view.job.program);
  return view.damaged ? kExitDamaged : kExitOk;
}

// A run without which nothing can be shown, of its header or its job, is damaged, unless it is this machine that cannot read it.
Result<int> ShowRun(const ShowOptions& options) {
  ASSAY_TRY(CheckReadable(options.target));
  const auto run = RunDirectory::Open(options.target);
  const auto shown = run ? ShowOpened(options, *run) : tl::unexpected(run.error());
  if (shown || !IsDamagedRun(options.target, shown.error())) return shown;
  fmt::print(stderr, "assay: {}\n", shown.error().message);
  return kExitDamaged;
}

// The state root that the file's own tensors hash to; a file with element types that a state cannot have, has none.
std::optional<Digest> RootOf(const Safetensors& file) {
  ThreadPool pool(1);
  const auto entries = EntriesOf(file, pool);
  return entries ? std::optional(StateRoot(*entries)) : std::nullopt;
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
  const int status = holds.value_or(true) ? kExitOk : kExitDamaged;
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
  fmt::print("{:<12} {}, {}, {}\n", "file", Plural(static_cast<std::int64_t>(file.tensors().size()), "tensor"),
             Plural(elements, "element"), ByteCount(static_cast<double>(bytes)));
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

// Whatever is signed is shown by what it shows.
Result<int> ShowSigned(const ShowOptions& options) {
  ThreadPool pool(1);
  const bool delivery = IsDelivery(options.target);
  ASSAY_ASSIGN(const Verification verification,
               delivery ? VerifyDelivery(options.target, {}, pool) : VerifyFile(options.target, {}, pool));
  if (options.json) {
    OrderedJson json = {{"file", options.target}};
    AddVerification(json, verification);
    fmt::print("{}\n", Dump(json));
  } else {
    fmt::print("{}", VerificationText(verification));
    if (delivery && verification.valid == true) {
      fmt::print("{:<11} assay sample JOB --weights {} (or assay eval), JOB being the job file that was ordered\n", "to use it",
                 JoinPath(options.target, "model.safetensors"));
    }
  }
  return ExitStatusOf(verification);
}

Result<int> RunShow(const ShowOptions& options) {
  if (!options.data.empty() && !Exists(options.data)) return Err("--data {}: No such file or directory", options.data);
  if (!Exists(options.target))
    return Err("{}: no such run, job file, safetensors file, receipt, evidence or key", options.target);
  const bool delivery = IsDelivery(options.target);
  if (IsDirectory(options.target) && !delivery) return ShowRun(options);
  const bool is_signed = delivery || IsSignedFile(options.target);
  const bool other = is_signed || options.target.ends_with(".safetensors");
  if (other && !options.data.empty()) return Err("--data: belongs to a job or a run, and {} is neither", options.target);
  if (is_signed && options.tensors) return Err("--tensors: belongs to a job or a run, and {} is neither", options.target);
  if (is_signed) return ShowSigned(options);
  if (options.target.ends_with(".safetensors")) return ShowFile(options);
  return ShowJob(options);
}

}  // namespace

void AddShow(Arguments& app, Command& command) {
  auto options = std::make_shared<ShowOptions>();
  Subcommand sub = app.Add("show", "What a job, a run, a delivery, a safetensors file, a receipt, evidence or a key is");
  sub.Footer(
      "Examples: assay show examples/gpt2-124m.toml    model, parameters, work and memory of a step, job id\n"
      "          assay show runs/mlp                   the same, as the run committed to it, and how far it is; needs no data\n"
      "          assay show model.safetensors          tensors and metadata; checks the state root of a snapshot\n"
      "          assay show receipt.json               what assay verify says about it, as of a folder that assay fetch left\n"
      "          assay show provider.pub               whose key it is");
  sub.Option("target", options->target,
             "Run directory, job file, .safetensors file, receipt, checkpoint, proof, evidence, key, or folder of assay fetch")
      .Required()
      .Type("WHAT");
  sub.Option("--data", options->data, "Of a job or a run: data file or folder instead of the job's").Type("PATH");
  sub.Flag("--tensors", options->tensors, "Also list every tensor of a job's state");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunShow);
}

}  // namespace assay::cli
