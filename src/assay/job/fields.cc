#include "assay/job/fields.h"

#include <limits>

namespace assay::job {
namespace {

constexpr std::int64_t kMaxStep = std::numeric_limits<std::uint32_t>::max();
constexpr std::string_view kFromData = "from the data";
constexpr FloatRange kPositive{0, 1e30f, true, false};
constexpr FloatRange kNotNegative{0, 1e30f, false, false};
constexpr FloatRange kFraction{0, 1, false, true};  // [0, 1)

template <class Enum>
void Kind(FieldVisitor& v, std::string_view key, Enum& value, std::span<const std::string_view> names, bool required) {
  auto index = static_cast<std::size_t>(value);
  v.Choice(key, index, names, required);
  value = static_cast<Enum>(index);
}

void VisitModel(FieldVisitor& v, Gpt2Config& c) {
  v.Derived("vocab", c.vocab, 1, 1 << 20, kFromData);
  v.Int("context", c.context, 1, 1 << 20);
  v.Int("layers", c.layers, 1, 256);
  v.Int("heads", c.heads, 1, 1 << 16);
  v.Int("width", c.width, 1, 1 << 16);
  v.Float("dropout", c.dropout, kFraction);
  v.RareFloat("norm_eps", c.norm_eps, Gpt2Config().norm_eps, kPositive);
}

void VisitModel(FieldVisitor& v, LlamaConfig& c) {
  v.Derived("vocab", c.vocab, 1, 1 << 20, kFromData);
  v.Int("context", c.context, 1, 1 << 20);
  v.Int("layers", c.layers, 1, 256);
  v.Int("heads", c.heads, 1, 1 << 16);
  v.Int("kv_heads", c.kv_heads, 1, 1 << 16);
  v.Int("width", c.width, 1, 1 << 16);
  v.Int("hidden", c.hidden, 1, 1 << 18);
  v.Float("rope_base", c.rope_base, kPositive);
  v.Float("norm_eps", c.norm_eps, kPositive);
  v.Bool("tied", c.tied);
  v.RareBool("qkv_bias", c.qkv_bias);
}

void VisitModel(FieldVisitor& v, ResNetConfig& c) {
  v.Int("depth", c.depth, 18, 50);
  v.Bool("cifar_stem", c.cifar_stem);
  v.Int("width", c.width, 1, 4096);
  v.Derived("classes", c.classes, 1, 1 << 20, kFromData);
  v.Derived("image", c.image, 1, 4096, kFromData);
  v.Rare("image_width", c.image_width, 1, 4096);
  v.Derived("channels", c.channels, 1, 1024, kFromData);
}

void VisitModel(FieldVisitor& v, MlpConfig& c) {
  v.Derived("inputs", c.inputs, 1, 1 << 24, kFromData);
  v.Derived("classes", c.classes, 1, 1 << 20, kFromData);
  v.Ints("hidden", c.hidden, 1, 1 << 20, 256);
  v.Text("activation", c.activation);
}

// A packed file holds what the model trains on, and its job has the keys of that.
void VisitData(FieldVisitor& v, DataConfig& c, bool language) {
  v.Section("data");
  const DataKind before = c.kind;
  Kind(v, "kind", c.kind, kDataKinds, true);
  if (c.kind != before) c = BlankData(c.kind);
  const bool features = c.kind == DataKind::kFeatures, images = c.kind == DataKind::kImages,
             hundred = c.kind == DataKind::kCifar100, cifar = c.kind == DataKind::kCifar10 || hundred,
             packed = c.kind == DataKind::kPacked, arrays = c.kind == DataKind::kArrays,
             sampled = arrays || (packed && !language);
  const bool generated = features || images || cifar;
  if (!features && !images) v.Path("path", c.path);
  if (c.kind == DataKind::kBpe || (packed && language)) v.Path("vocabulary", c.vocabulary);
  if (c.kind == DataKind::kBpe) v.RareBool("special_tokens", c.special_tokens);
  v.Float("validation", c.validation, kFraction);
  if (arrays) {
    v.Text("inputs", c.inputs);
    v.Text("labels", c.labels);
  }
  if (sampled) Kind(v, "layout", c.layout, kLayouts, false);
  if (hundred) Kind(v, "label", c.label, kCifarLabels, false);
  if (!generated && !sampled) v.Int("stride", c.stride, 0, 1 << 20);
  if (cifar || sampled) v.Bool("augment", c.augment);
  if (!generated) return;
  v.Int("samples", c.samples, 1, std::int64_t{1} << 40);
  if (!cifar) v.Int("classes", c.classes, 1, 1 << 16);
  if (images) v.Int("image", c.image, 1, 1024);
  if (images) v.Int("channels", c.channels, 1, 64);
  if (features) v.Int("features", c.features, 1, 1 << 20);
  v.Float("noise", c.noise, {0, 1e6f});
  auto seed = static_cast<std::int64_t>(c.seed);
  v.Int("seed", seed, 0, std::numeric_limits<std::int64_t>::max());
  c.seed = static_cast<std::uint64_t>(seed);
}

void VisitBatch(FieldVisitor& v, BatchConfig& c, bool language) {
  v.Section("batch");
  v.Int("microbatch", c.microbatch, 1, 1 << 20);
  v.Int("microbatches", c.microbatches, 1, 1 << 16);
  if (language) v.Int("sequence", c.sequence, 1, 1 << 18);
}

void VisitOptimizer(FieldVisitor& v, OptimizerConfig& c) {
  v.Section("optimizer");
  Kind(v, "kind", c.kind, kOptimizerKinds, false);
  if (c.kind == OptimizerKind::kSgd) {
    v.Float("momentum", c.momentum, kFraction);
    v.Float("dampening", c.dampening, {0, 1});
    v.Bool("nesterov", c.nesterov);
  } else {
    v.Float("beta1", c.beta1, kFraction);
    v.Float("beta2", c.beta2, kFraction);
    v.Float("eps", c.eps, kPositive);
  }
  v.Float("weight_decay", c.weight_decay, kNotNegative);
  v.Float("clip_norm", c.clip_norm, kNotNegative);
}

void VisitSchedule(FieldVisitor& v, Schedule& c) {
  v.Section("schedule");
  Kind(v, "kind", c.kind, kScheduleKinds, false);
  v.Float("lr", c.lr, kNotNegative);
  v.Int("warmup", c.warmup, 0, kMaxStep);
  if (c.kind == ScheduleKind::kWarmupCosine) {
    v.Float("min_lr", c.min_lr, kNotNegative);
    v.Derived("length", c.length, 1, kMaxStep, "steps");
  }
  if (c.kind == ScheduleKind::kStep) {
    v.Int("every", c.every, 1, kMaxStep);
    v.Float("gamma", c.gamma, {0, 1, true, false});
  }
}

}  // namespace

std::string FloatRange::Text() const {
  if (high >= 1e30f) return open_low ? fmt::format("> {}", low) : fmt::format(">= {}", low);
  return fmt::format("{} {} x {} {}", low, open_low ? "<" : "<=", open_high ? "<" : "<=", high);
}

std::string FloatRange::Phrase() const { return fmt::format("a number {}{}", high >= 1e30f ? "" : "x with ", Text()); }

namespace {

ModelConfig BlankModel(std::size_t kind) {
  if (kind == 0) {
    Gpt2Config c;
    c.vocab = 0;
    return c;
  }
  if (kind == 1) {
    LlamaConfig c;
    c.vocab = 0;
    return c;
  }
  if (kind == 2) {
    ResNetConfig c;
    c.classes = c.image = c.channels = 0;
    return c;
  }
  MlpConfig c;
  c.inputs = c.classes = 0;
  return c;
}

}  // namespace

void SetModelKind(Job& job, std::size_t kind) {
  job.model_folder.reset();
  if (kind == kFolderKind) job.model_folder.emplace();
  job.model = BlankModel(kind == kFolderKind ? 0 : kind);
}

DataConfig BlankData(DataKind kind) {
  DataConfig c;
  c.kind = kind;
  c.augment = kind == DataKind::kCifar10 || kind == DataKind::kCifar100;
  return c;
}

bool IsLanguage(const ModelConfig& model) {
  return std::holds_alternative<Gpt2Config>(model) || std::holds_alternative<LlamaConfig>(model);
}

Job BlankJob() {
  Job job;
  SetModelKind(job, 0);
  job.data = BlankData(DataKind::kChars);
  return job;
}

void Visit(FieldVisitor& v, Job& job) {
  v.Section("");
  v.Text("name", job.name);
  v.Int("steps", job.steps, 1, kMaxStep);
  v.Hash("seed_from", job.seed_from);
  if (!job.seed_from) {
    auto seed = static_cast<std::int64_t>(job.seed);
    v.Int("seed", seed, 0, std::numeric_limits<std::int64_t>::max());
    job.seed = static_cast<std::uint64_t>(seed);
  }
  Kind(v, "precision", job.precision, kPrecisions, false);
  if (job.precision == Precision::kFp64Rounded) {
    v.Int("round_bits", job.round_bits, 24, 32);
    Kind(v, "round_rule", job.round_rule, kRoundRules, false);
    if (job.round_rule == RoundRule::kPaper) v.OpNumbers("round_tau", job.round_tau, {0, 0.5f});
  }

  v.Section("model");
  const std::size_t before = job.model_folder && !v.OfEncoding() ? kFolderKind : job.model.index();
  std::size_t kind = before;
  v.Choice("kind", kind, v.OfEncoding() ? kEncodedModelKinds : std::span(kModelKinds), true);
  if (kind != before) SetModelKind(job, kind);
  if (kind == kFolderKind) {
    v.Path("path", *job.model_folder);
  } else {
    std::visit([&](auto& config) { VisitModel(v, config); }, job.model);
  }

  VisitData(v, job.data, IsLanguage(job.model));
  VisitBatch(v, job.batch, IsLanguage(job.model));
  VisitOptimizer(v, job.optimizer);
  VisitSchedule(v, job.schedule);
  v.Section("commit");
  v.Int("every", job.commit_every, 1, kMaxStep);
  v.Section("eval");
  v.Int("every", job.eval.every, 0, kMaxStep);
  v.Int("batches", job.eval.batches, 1, 1 << 30);
  v.Section("snapshot");
  v.Int("every", job.snapshot.every, 0, kMaxStep);
  v.Int("keep", job.snapshot.keep, 0, 1 << 20);
  v.Int("minutes", job.snapshot.minutes, 0, 1 << 20);
  v.Bool("start", job.snapshot.start);
  v.Section("init");
  v.Path("weights", job.init_weights);
}

}  // namespace assay::job
