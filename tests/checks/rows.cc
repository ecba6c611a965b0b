#include "rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "assay/audit/claims.h"
#include "assay/train/trainer.h"
#include "attacks.h"
#include "cheat.h"
#include "telemetry_of.h"
#include "tools.h"

namespace assay::checks {
namespace {

// Five epochs of eight steps, a state kept after every second one.
constexpr char kJob[] = R"(
steps = 40
[model]
kind = "mlp"
hidden = [24]
[data]
kind = "features"
features = 48
classes = 4
samples = 160
validation = 0.2
noise = 0.8
[batch]
microbatch = 16
[optimizer]
kind = "sgd"
momentum = 0.9
[schedule]
lr = 0.05
[commit]
every = 1
[snapshot]
every = 2
start = true
)";

// The four kinds of models, {seed} and a number to vary them by.
std::string HonestJob(int kind, int number) {
  // A state after every second step: every epoch has a step that follows one.
  const std::string tail = fmt::format("[commit]\nevery = {}\n[snapshot]\nevery = 2\nstart = true\n", 1 + number % 2);
  const std::string head = fmt::format("steps = {}\nseed = {}\n", 12 + 2 * (number % 5), 1 + number);
  switch (kind) {
    case 0:
      return head +
             "[model]\nkind = \"mlp\"\nhidden = [16]\n[data]\nkind = \"features\"\nfeatures = 12\nclasses = 4\nsamples = "
             "160\n[batch]\nmicrobatch = 8\n"
             "[optimizer]\nkind = \"sgd\"\n[schedule]\nlr = 0.05\n" +
             tail;
    case 1:
      return head +
             "[model]\nkind = \"gpt2\"\ncontext = 8\nlayers = 1\nheads = 2\nwidth = 16\n[data]\nkind = \"chars\"\nstride = "
             "64\n[batch]\nmicrobatch = 4\n"
             "microbatches = 2\nsequence = 8\n[optimizer]\nclip_norm = 1.0\n[schedule]\nlr = 3e-3\n" +
             tail;
    case 2:
      return head +
             "[model]\nkind = \"llama\"\ncontext = 8\nlayers = 1\nheads = 2\nkv_heads = 1\nwidth = 16\nhidden = "
             "24\n[data]\nkind = \"chars\"\nstride = 64\n"
             "[batch]\nmicrobatch = 4\nsequence = 8\n[schedule]\nkind = \"warmup_cosine\"\nlr = 3e-3\nwarmup = 3\n" +
             tail;
    default:
      return head +
             "[model]\nkind = \"resnet\"\nwidth = 2\n[data]\nkind = \"images\"\nimage = 8\nclasses = 3\nsamples = 80\n"
             "validation = 0.2\n[batch]\nmicrobatch = 8\n"
             "[optimizer]\nkind = \"sgd\"\n[schedule]\nlr = 0.05\n" +
             tail;
  }
}

constexpr std::string_view kKinds[] = {"mlp", "gpt2", "llama", "resnet"};

SigningKey KeyOf(std::string_view who) { return {fmt::format("example.org/{}", who), HashBytes(AsBytes(who)).bytes}; }

Result<PreparedJob> Prepared(const std::string& text) {
  ASSAY_ASSIGN(Job job, ParseJob(text, "job.toml"));
  return Prepare(std::move(job));
}

class Maker {
 public:
  explicit Maker(const Lab& lab) : lab_(lab) {}

  std::string Folder(std::string_view name) const { return lab_.folder + "/" + std::string(name); }

  // What an honest trainer leaves.
  Status TrainHonestly(const PreparedJob& prepared, const SigningKey& key, const std::string& name,
                       Machine machine = Machine::kBusy) const {
    std::map<std::int64_t, float> losses;
    {
      ASSAY_ASSIGN(RunDirectory run,
                   RunDirectory::OpenForTraining(Folder(name), ContentOf(prepared, Folder(name)), key.verify_key()));
      ASSAY_TRY(assay::Train(prepared, run, key, lab_.backend, lab_.pool,
                             {.on_step = [&](const StepReport& report) { losses[report.step] = report.loss; }}));
    }
    ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(Folder(name)));
    return WriteTelemetryOf(run, prepared, key, machine, losses);
  }

  // A finished run with telemetry. Where it cannot have any, because what was signed does not hold together, it has none.
  Status Train(const attacks::Hooks& hooks, const PreparedJob& prepared, const SigningKey& key, const std::string& name,
               std::int64_t at = 0, Machine machine = Machine::kBusy) const {
    attacks::Lie lie;
    const attacks::Setting setting{.prepared = prepared,
                                   .key = key,
                                   .backend = lab_.backend,
                                   .pool = lab_.pool,
                                   .at = at > 0 ? at : std::max<std::int64_t>(1, prepared.job.steps / 2),
                                   .lie = lie};
    ASSAY_TRY(attacks::RunHooks(hooks, setting, Folder(name)));
    return AddTelemetry(name, key, machine);
  }

  Status AddTelemetry(const std::string& name, const SigningKey& key, Machine machine) const {
    ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(Folder(name)));
    const auto own = PrepareRun(run, "", lab_.pool);
    const bool is_impostor = run.signer() != key.verify_key();
    if (own && is_impostor) {
      static_cast<void>(WriteTelemetryOf(run, *own, attacks::ForeignKey(key), machine));
    } else if (own) {
      static_cast<void>(WriteTelemetryOf(run, *own, key, machine));
    }
    return {};
  }

  Row Look(std::string name, std::string what, const PreparedJob& asked, const SigningKey& key, bool honest = false,
           std::vector<std::string> parents = {}, bool grinding = false) const {
    const Looked looked{
        .run = Folder(name), .asked = asked, .signer = key.verify_key(), .parents = std::move(parents), .grinding = grinding};
    Row row{.name = std::move(name), .what = std::move(what), .honest = honest};
    row.cells = LookAt(looked, lab_.backend, lab_.pool);
    return row;
  }

 private:
  const Lab& lab_;
};

Status AddCheats(const Maker& maker, const Lab& lab, const PreparedJob& asked, const SigningKey& key, std::vector<Row>& rows) {
  for (const Attack& attack : KnownAttacks()) {
    attacks::Lie lie;
    const attacks::Setting setting{
        .prepared = asked, .key = key, .backend = lab.backend, .pool = lab.pool, .at = 1, .lie = lie};
    ASSAY_ASSIGN(const attacks::Hooks hooks, attack.make(setting));
    ASSAY_TRY(maker.Train(hooks, asked, key, std::string(attack.name), 1));
    rows.push_back(maker.Look(std::string(attack.name), std::string(attack.what), asked, key));
  }
  for (const attacks::Cheat& cheat : attacks::Cheats()) {
    const std::string name(cheat.name);
    ASSAY_TRY(attacks::RunCheat(cheat, {.job = asked.job, .out = maker.Folder(name)}, key, lab.backend, lab.pool));
    ASSAY_TRY(maker.AddTelemetry(name, key, Machine::kBusy));
    rows.push_back(maker.Look(name, std::string(cheat.what), asked, key));
  }
  return {};
}

// What is no lie about the job: who stole weights starts from them, who distils trains on another model's labels, who grinds tries seeds.
Status AddThieves(const Maker& maker, const PreparedJob& asked, std::vector<Row>& rows) {
  const SigningKey owner = KeyOf("owner"), thief = KeyOf("thief");
  ASSAY_TRY(maker.TrainHonestly(asked, owner, "owner"));
  ASSAY_TRY(maker.TrainHonestly(asked, thief, "idle-noise", Machine::kIdle));
  rows.push_back(maker.Look("idle-noise",
                            "honest states, and the telemetry of a GPU that idles: bought elsewhere, or replayed from a copy",
                            asked, thief));
  Job ground = asked.job;
  ground.seed = 4242;
  ASSAY_ASSIGN(const PreparedJob ground_job, Prepare(ground));
  ASSAY_TRY(maker.TrainHonestly(ground_job, thief, "seed-grinding"));
  rows.push_back(maker.Look("seed-grinding",
                            "tries seeds until one suits, and trains honestly with it; the expert insists on `--seed-from`",
                            ground_job, thief, false, {}, true));
  Job stolen = asked.job;
  stolen.init_weights = maker.Folder("owner") + "/model.safetensors";
  ASSAY_ASSIGN(const PreparedJob stolen_job, Prepare(stolen));
  ASSAY_TRY(maker.TrainHonestly(stolen_job, thief, "stolen-weights"));
  rows.push_back(maker.Look("stolen-weights", "trains on from somebody else's weights and names no parent", stolen_job, thief));
  ASSAY_TRY(maker.TrainHonestly(stolen_job, thief, "fine-tuning"));
  rows.push_back(
      maker.Look("fine-tuning", "the same, and names the parent's run", stolen_job, thief, true, {maker.Folder("owner")}));
  Job distilled = asked.job;
  distilled.data.seed = 77;
  ASSAY_ASSIGN(const PreparedJob distilled_job, Prepare(distilled));
  ASSAY_TRY(maker.TrainHonestly(distilled_job, thief, "distilled"));
  rows.push_back(maker.Look("distilled", "honest training on data of its own choice, which another model may have labelled",
                            distilled_job, thief));
  return {};
}

}  // namespace

Result<std::vector<Row>> HonestRows(const Lab& lab, int count) {
  const Maker maker(lab);
  const SigningKey key = KeyOf("honest");
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    const int kind = i % 4;
    ASSAY_ASSIGN(const PreparedJob prepared, Prepared(HonestJob(kind, i / 4)));
    const std::string name = count == 4 ? fmt::format("honest-{}", kKinds[kind]) : fmt::format("honest-{}-{}", kKinds[kind], i);
    ASSAY_TRY(maker.TrainHonestly(prepared, key, name));
    rows.push_back(maker.Look(name, fmt::format("an honest run of a small {}", kKinds[kind]), prepared, key, true));
  }
  return rows;
}

Result<std::vector<Row>> AllRows(const Lab& lab) {
  ASSAY_ASSIGN(std::vector<Row> rows, HonestRows(lab, 4));
  const Maker maker(lab);
  const SigningKey key = KeyOf("provider");
  ASSAY_ASSIGN(const PreparedJob asked, Prepared(kJob));
  ASSAY_TRY(AddThieves(maker, asked, rows));
  ASSAY_TRY(AddCheats(maker, lab, asked, key, rows));
  return rows;
}

}  // namespace assay::checks
