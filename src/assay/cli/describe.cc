#include "assay/cli/describe.h"

#include <fmt/ranges.h>

#include <utility>

#include "assay/backend/ref/ref_backend.h"
#include "assay/cli/text.h"
#include "assay/job/fields.h"
#include "assay/monitor/speed.h"

namespace assay::cli {
namespace {

std::string_view NameOf(Precision precision) { return job::kPrecisions[static_cast<std::size_t>(precision)]; }

std::string Describe(const Gpt2Config& c) {
  return fmt::format("GPT-2: {}, {}, width {}, context {}, vocabulary {}, dropout {:g}", Plural(c.layers, "layer"),
                     Plural(c.heads, "head"), c.width, c.context, c.vocab, c.dropout);
}

std::string Describe(const LlamaConfig& c) {
  return fmt::format("Llama: {}, {} ({} for keys), width {}, hidden {}, context {}, vocabulary {}", Plural(c.layers, "layer"),
                     Plural(c.heads, "head"), c.kv_heads, c.width, c.hidden, c.context, c.vocab) +
         (c.qkv_bias ? ", biases on queries, keys and values" : "");
}

std::string Describe(const ResNetConfig& c) {
  return fmt::format("ResNet-{}: {} stem, {}x{}x{} images, width {}, {} classes", c.depth, c.cifar_stem ? "CIFAR" : "ImageNet",
                     c.height(), c.columns(), c.channels, c.width, c.classes);
}

std::string Describe(const MlpConfig& c) {
  if (c.hidden.empty()) return fmt::format("Logistic regression: {} inputs, {} classes", c.inputs, c.classes);
  return fmt::format("MLP: {} inputs, hidden {}, {} classes, {}", c.inputs, fmt::join(c.hidden, "-"), c.classes, c.activation);
}

std::string DescribePrecision(const Job& job) {
  std::string text(NameOf(job.precision));
  if (job.precision != Precision::kFp64Rounded) return text;
  text += fmt::format(", {} bits", job.round_bits);
  if (job.round_rule == RoundRule::kPaper) text += ", by the published rule";
  return text;
}

std::string DescribeBatch(const Job& job) {
  const Throughput throughput = ThroughputOf(job);
  std::string text = Plural(job.batch.microbatch * job.batch.microbatches, "sample");
  if (job.batch.microbatches > 1) text += fmt::format(" ({} microbatches of {})", job.batch.microbatches, job.batch.microbatch);
  if (throughput.unit == "tokens") text += fmt::format(" of {} tokens", job.batch.sequence);
  return text;
}

// Of a job whose data may not be here: what its root says.
std::uint64_t SeedOf(const JobView& view) {
  return view.job.seed_from ? SeedFrom(view.identity.data, *view.job.seed_from) : view.job.seed;
}

}  // namespace

std::string DescribeModel(const ModelConfig& model) {
  return std::visit([](const auto& config) { return Describe(config); }, model);
}

std::string DescribeOptimizer(const OptimizerConfig& o) {
  std::string text = o.kind == OptimizerKind::kSgd
                         ? fmt::format("SGD, momentum {:g}{}", o.momentum, o.nesterov ? " (Nesterov)" : "")
                         : fmt::format("{}, betas {:g} {:g}, eps {:g}", o.kind == OptimizerKind::kAdam ? "Adam" : "AdamW",
                                       o.beta1, o.beta2, o.eps);
  if (o.weight_decay != 0) text += fmt::format(", weight decay {:g}", o.weight_decay);
  if (o.clip_norm != 0) text += fmt::format(", gradients clipped at norm {:g}", o.clip_norm);
  return text;
}

std::string DescribeSchedule(const Schedule& s) {
  std::string text = fmt::format("learning rate {:g}", s.lr);
  if (s.warmup > 0) text += fmt::format(", {} steps of warm-up", s.warmup);
  switch (s.kind) {
    case ScheduleKind::kConstant: break;
    case ScheduleKind::kWarmupCosine: text += fmt::format(", cosine to {:g} at step {}", s.min_lr, s.length); break;
    case ScheduleKind::kStep: text += fmt::format(", times {:g} every {} steps", s.gamma, s.every); break;
  }
  return text;
}

ProgramSummary Summarize(const Program& program) {
  ProgramSummary summary;
  summary.micro_nodes = program.micro.nodes().size();
  summary.update_nodes = program.update.nodes().size();
  summary.flops = monitor::StepFlops(program);
  summary.state_bytes = static_cast<double>(monitor::StateBytes(program));
  ThreadPool pool(1);
  const auto backend = ref::MakeRefBackend(pool);
  summary.working_bytes = static_cast<double>(StepRunner(program, *backend).memory_bytes());
  for (const Graph* graph : {&program.micro, &program.update}) {
    for (const Node& node : graph->nodes()) ++summary.ops[std::string(graph->def(node).name)];
  }
  return summary;
}

JobView ViewOf(PreparedJob prepared) {
  return {.job = std::move(prepared.job),
          .program = std::move(prepared.program),
          .identity = prepared.identity,
          .data = prepared.data.train->description()};
}

std::string JobText(const JobView& view) {
  const Job& job = view.job;
  const ProgramSummary program = Summarize(view.program);
  std::vector<std::string> ops;
  for (const auto& [name, count] : program.ops) ops.push_back(fmt::format("{} {}", count, name));
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) { text += fmt::format("{:<12} {}\n", key, value); };
  line("job", job.name);
  line("job id", view.identity.job.hex());
  line("model", DescribeModel(job.model));
  line("parameters", Grouped(ParameterCount(job.model)));
  if (view.data) line("data", *view.data);
  line("data root", view.identity.data.hex());
  line("batch", DescribeBatch(job));
  line("optimizer", DescribeOptimizer(job.optimizer));
  line("schedule", DescribeSchedule(job.schedule));
  const std::string from = job.seed_from ? fmt::format(", which follows from {}", job.seed_from->hex()) : "";
  line("steps", fmt::format("{}, seed {}{}", job.steps, SeedOf(view), from));
  line("precision", DescribePrecision(job));
  line("program", fmt::format("{} nodes per microbatch, {} in the update, {}FLOP per step", program.micro_nodes,
                              program.update_nodes, Count(program.flops)));
  line("memory",
       fmt::format("{} of state, {} of work space", ByteCount(program.state_bytes), ByteCount(program.working_bytes)));
  line("ops", fmt::format("{}", fmt::join(ops, ", ")));
  return text;
}

OrderedJson JobJson(const JobView& view) {
  const Job& job = view.job;
  const ProgramSummary program = Summarize(view.program);
  OrderedJson parameters = OrderedJson::array();
  for (const StateSpec& spec : ModelState(job.model)) {
    const auto dims = spec.type.shape.dims();
    parameters.push_back({{"name", spec.name},
                          {"dtype", std::string(Name(spec.type.dtype))},
                          {"shape", std::vector<std::int64_t>(dims.begin(), dims.end())}});
  }
  const bool rounds = job.precision == Precision::kFp64Rounded;
  return {
      {"job", job.name},
      {"job_id", view.identity.job.hex()},
      {"data_root", view.identity.data.hex()},
      {"data", ToJson(view.data)},
      {"model", DescribeModel(job.model)},
      {"optimizer", DescribeOptimizer(job.optimizer)},
      {"schedule", DescribeSchedule(job.schedule)},
      {"steps", job.steps},
      {"seed", SeedOf(view)},
      {"seed_from", job.seed_from ? OrderedJson(job.seed_from->hex()) : OrderedJson(nullptr)},
      {"precision", NameOf(job.precision)},
      {"round_bits", rounds ? OrderedJson(job.round_bits) : OrderedJson(nullptr)},
      {"round_rule", rounds ? OrderedJson(job::kRoundRules[static_cast<std::size_t>(job.round_rule)]) : OrderedJson(nullptr)},
      {"batch",
       {{"microbatch", job.batch.microbatch}, {"microbatches", job.batch.microbatches}, {"sequence", job.batch.sequence}}},
      {"parameter_count", ParameterCount(job.model)},
      {"program",
       {{"micro_nodes", program.micro_nodes},
        {"update_nodes", program.update_nodes},
        {"flops_per_step", Whole(program.flops)},
        {"state_bytes", Whole(program.state_bytes)},
        {"working_bytes", Whole(program.working_bytes)},
        {"ops", program.ops}}},
      {"parameters", parameters}};
}

}  // namespace assay::cli
