#include <algorithm>
#include <chrono>
#include <span>

#include "assay/cli/bench_rounding.h"
#include "assay/cli/command.h"
#include "assay/cli/counter.h"
#include "assay/cli/describe.h"
#include "assay/cli/launch_timing.h"
#include "assay/cli/load.h"
#include "assay/cli/progress.h"
#include "assay/cli/step_parts.h"
#include "assay/cli/text.h"
#include "assay/cli/timing.h"
#include "assay/ops/table.h"
#include "assay/run/snapshot.h"
#include "assay/train/batch.h"
#include "assay/train/memory_fit.h"

namespace assay::cli {
namespace {

struct BenchOptions {
  std::string target;
  std::string data;
  int steps = 5;
  ComputeOptions compute;
  bool json = false;
};

struct OpRow {
  std::string name;
  double seconds = 0;  // of its best step
  double flops = 0;    // per step
  std::size_t nodes = 0;
  bool fused = false;
};

struct BenchResult {
  std::vector<double> steps;           // seconds each, ascending
  std::vector<double> committing;      // the same, with the state's root taken after each
  std::vector<OpRow> ops;              // slowest first
  std::vector<LaunchTiming> launches;  // of a device; slowest first
  PartSeconds parts;
  double flops = 0;
  std::size_t memory_bytes = 0;
  std::size_t peak_bytes = 0;  // of a device
};

constexpr int kWarmUp = 3;  // a device records the second step and replays it from then on

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Seconds of each of `steps` steps; with a backend, the state's root is taken after each.
std::vector<double> TimeSteps(const PreparedJob& prepared, StepRunner& runner, State& state, int first, int steps,
                              Counter& counter, Backend* committing = nullptr) {
  const Job& job = prepared.job;
  BatchLoader loader(*prepared.data.train, runner.batch_fields());
  std::vector<double> seconds;
  for (int i = 0; i < steps; ++i) {
    const auto step = static_cast<std::uint32_t>(first + i);
    const auto indices =
        BatchIndices(job.seed, prepared.data.train->samples(), step, job.batch.microbatch * job.batch.microbatches);
    const double begin = Now();
    runner.Run(state, {.seed = job.seed,
                       .step = step,
                       .lr = LearningRate(job.schedule, step),
                       .load = [&](std::int64_t g, std::span<Tensor> fields) {
                         const std::int64_t at = g * job.batch.microbatch;
                         loader.Load(std::span(indices).subspan(static_cast<std::size_t>(at),
                                                                static_cast<std::size_t>(job.batch.microbatch)),
                                     {.seed = job.seed, .step = step, .position = at, .train = true}, fields);
                       }});
    if (committing != nullptr) StateRootOf(prepared.program.state, state, *committing);
    seconds.push_back(Now() - begin);
    counter.Tick();
  }
  return seconds;
}

void AddCosts(const Graph& graph, double times, std::vector<OpRow>& rows) {
  for (const Node& node : graph.nodes()) {
    const OpDef& def = graph.def(node);
    ++rows[node.op].nodes;
    if (def.cost != nullptr) rows[node.op].flops += times * def.cost(graph.Instance(node)).flops;
  }
}

// Each op's best step.
std::vector<OpTiming> TimeOps(const PreparedJob& prepared, HostBackend& backend, State& state, int steps, Counter& counter) {
  TimingBackend timing(backend, Ops().size());
  StepRunner timed(prepared.program, timing);
  TimeSteps(prepared, timed, state, 1 + steps, 1, counter);
  std::vector<OpTiming> timings;
  for (int i = 0; i < steps; ++i) {
    timing.Reset();
    TimeSteps(prepared, timed, state, 2 + steps + i, 1, counter);
    const std::vector<OpTiming> latest = timing.Timings();
    if (timings.empty()) timings = latest;
    for (std::size_t op = 0; op < latest.size(); ++op) {
      timings[op].seconds = std::min(timings[op].seconds, latest[op].seconds);
      timings[op].digit_seconds = std::min(timings[op].digit_seconds, latest[op].digit_seconds);
    }
  }
  return timings;
}

Result<BenchResult> Measure(const PreparedJob& prepared, Backend& backend, int steps) {
  ASSAY_ASSIGN(State start, StartingState(prepared));
  const int by_op = backend.AsHost() != nullptr ? 1 + steps : 1;
  Counter counter(stderr, ProgressModeFor(stderr, false) == ProgressMode::kBar, "timing step", kWarmUp + 2 * steps + by_op);
  State state = MoveTo(backend.memory(), std::move(start));
  BenchResult result;
  {
    StepRunner runner(prepared.program, backend);
    TimeSteps(prepared, runner, state, 0, kWarmUp, counter, &backend);
    for (int i = 0; i < steps; ++i) {  // by turns
      const int at = kWarmUp + 2 * i;
      result.steps.push_back(TimeSteps(prepared, runner, state, at, 1, counter).front());
      result.committing.push_back(TimeSteps(prepared, runner, state, at + 1, 1, counter, &backend).front());
    }
    result.peak_bytes = backend.peak_bytes();
    result.memory_bytes = runner.memory_bytes();
  }
  std::vector<OpTiming> timings(Ops().size());
  if (HostBackend* host = backend.AsHost()) {
    timings = TimeOps(prepared, *host, state, steps, counter);
  } else {
    LaunchTimer timer(backend);
    StepRunner timed(prepared.program, timer);
    TimeSteps(prepared, timed, state, 1 + steps, 1, counter);
    result.launches = timer.Timings();
  }

  std::vector<OpRow> rows(Ops().size());
  AddCosts(prepared.program.micro, static_cast<double>(prepared.program.microbatches), rows);
  AddCosts(prepared.program.update, 1, rows);
  for (std::size_t op = 0; op < rows.size(); ++op) {
    rows[op].name = Ops()[static_cast<OpIndex>(op)].name;
    rows[op].seconds = timings[op].seconds;
    rows[op].fused = timings[op].fused;
    result.flops += rows[op].flops;
    result.parts.Add(PartOf(Ops()[static_cast<OpIndex>(op)]), timings[op].seconds, timings[op].digit_seconds);
  }
  for (const LaunchTiming& launch : result.launches) result.parts.Add(launch.part, launch.seconds, launch.digit_seconds);
  std::erase_if(rows, [](const OpRow& row) { return row.nodes == 0; });
  std::sort(rows.begin(), rows.end(), [](const OpRow& a, const OpRow& b) { return a.seconds > b.seconds; });
  std::ranges::sort(result.steps);
  std::ranges::sort(result.committing);
  result.ops = std::move(rows);
  return result;
}

void PrintLaunches(const std::vector<LaunchTiming>& launches) {
  constexpr std::size_t kShown = 30;
  double total = 0;
  for (const LaunchTiming& launch : launches) total += launch.seconds;
  std::vector<std::vector<std::string>> table = {{"launch", "count", "ms/step", "share", "FLOP/s", "B/s"}};
  for (const LaunchTiming& launch : std::span(launches).first(std::min(launches.size(), kShown))) {
    table.push_back({launch.what, std::to_string(launch.launches), fmt::format("{:.3f}", 1e3 * launch.seconds),
                     fmt::format("{:.1f}%", 100 * launch.seconds / total), Count(launch.flops / launch.seconds),
                     Count(launch.bytes / launch.seconds)});
  }
  fmt::print("{}{} kinds of launches, {:.2f} ms in all\n", Table(table), launches.size(), 1e3 * total);
}

void PrintParts(const PartSeconds& parts) {
  std::vector<std::vector<std::string>> table = {{"part", "ms/step", "share"}};
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const auto part = static_cast<StepPart>(i);
    if (parts[part] == 0) continue;
    table.push_back({std::string(PartName(part)), fmt::format("{:.3f}", 1e3 * parts[part]),
                     fmt::format("{:.1f}%", 100 * parts[part] / parts.total())});
  }
  fmt::print("{}\n", Table(table));
}

void PrintText(const PreparedJob& prepared, const Compute& compute, const BenchResult& result) {
  const Throughput throughput = ThroughputOf(prepared.job);
  const double best = result.steps.front();
  fmt::print("{} with {} kernels on {}\n\n", DescribeModel(prepared.job.model), compute.kernels,
             Plural(compute.pool->threads(), "thread"));
  fmt::print("step        {:.2f} ms best, {:.2f} ms median of {}\n", 1e3 * best, 1e3 * result.steps[result.steps.size() / 2],
             result.steps.size());
  fmt::print("speed       {} {}/s, {}FLOP/s\n", Count(throughput.per_step / best), throughput.unit, Count(result.flops / best));
  fmt::print("committing  {:.2f} ms best, {:.2f} ms median, with the state's root after each step\n",
             1e3 * result.committing.front(), 1e3 * result.committing[result.committing.size() / 2]);
  fmt::print("work space  {}\n", ByteCount(static_cast<double>(result.memory_bytes)));
  if (result.peak_bytes != 0) fmt::print("GPU memory  {} at most\n", ByteCount(static_cast<double>(result.peak_bytes)));
  fmt::print("\n");
  PrintParts(result.parts);
  if (!result.launches.empty()) return PrintLaunches(result.launches);
  double total = 0;
  for (const OpRow& row : result.ops) total += row.seconds;
  std::vector<std::vector<std::string>> table = {{"op", "nodes", "ms/step", "share", "FLOP/s"}};
  for (const OpRow& row : result.ops) {
    table.push_back({row.fused ? row.name + " (fused)" : row.name, std::to_string(row.nodes),
                     fmt::format("{:.3f}", 1e3 * row.seconds), fmt::format("{:.1f}%", 100 * row.seconds / total),
                     row.seconds > 0 ? Count(row.flops / row.seconds) : "-"});
  }
  fmt::print("{}", Table(table));
}

void PrintJson(const PreparedJob& prepared, const Compute& compute, const BenchResult& result) {
  OrderedJson ops = OrderedJson::array();
  for (const OpRow& row : result.ops) {
    ops.push_back(
        {{"op", row.name}, {"nodes", row.nodes}, {"seconds", row.seconds}, {"flops", Whole(row.flops)}, {"fused", row.fused}});
  }
  OrderedJson launches = OrderedJson::array();
  for (const LaunchTiming& launch : result.launches) {
    launches.push_back({{"launch", launch.what},
                        {"count", launch.launches},
                        {"seconds", launch.seconds},
                        {"flops", Whole(launch.flops)},
                        {"bytes", Whole(launch.bytes)}});
  }
  OrderedJson parts = OrderedJson::object();
  for (std::size_t i = 0; i < kStepParts; ++i) {
    const auto part = static_cast<StepPart>(i);
    parts[std::string(PartName(part))] = result.parts[part];
  }
  const Throughput throughput = ThroughputOf(prepared.job);
  const OrderedJson json = {{"job", prepared.job.name},
                            {"device", compute.device},
                            {"simd", compute.kernels},
                            {"threads", compute.pool->threads()},
                            {"step_seconds_best", result.steps.front()},
                            {"step_seconds_median", result.steps[result.steps.size() / 2]},
                            {"unit", throughput.unit},
                            {"units_per_second", throughput.per_step / result.steps.front()},
                            {"flops_per_step", Whole(result.flops)},
                            {"committing_seconds_best", result.committing.front()},
                            {"committing_seconds_median", result.committing[result.committing.size() / 2]},
                            {"working_bytes", result.memory_bytes},
                            {"device_peak_bytes", result.peak_bytes},
                            {"parts", parts},
                            {"ops", ops},
                            {"launches", launches}};
  fmt::print("{}\n", Dump(json));
}

Result<int> RunBench(const BenchOptions& options) {
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(Job job, LoadJobOf(options.target, options.data));
  ASSAY_ASSIGN(const PreparedJob prepared, Prepare(std::move(job), compute.pool.get()));
  ASSAY_TRY(ComputeFor(prepared.job, compute));
  ASSAY_TRY(CheckFits(prepared, *compute.backend));
  if (prepared.job.precision == Precision::kFp64Rounded) return BenchRounding(prepared, compute, options.steps, options.json);
  ASSAY_ASSIGN(const BenchResult result, Measure(prepared, *compute.backend, options.steps));
  if (options.json) {
    PrintJson(prepared, compute, result);
  } else {
    PrintText(prepared, compute, result);
  }
  return kExitOk;
}

}  // namespace

void AddBench(Arguments& app, Command& command) {
  auto options = std::make_shared<BenchOptions>();
  Subcommand sub = app.Add("bench", "Time a job's training step, whole and op by op; nothing is written");
  sub.Footer("Example: assay bench examples/gpt2-tiny.toml --steps 20");
  sub.Option("target", options->target, "Job file or run directory").Required().Type("JOB|RUN");
  sub.Option("--steps", options->steps, "Steps to time, after a few to warm up").Range(1, 1000000).ShowDefault().Type("N");
  sub.Option("--data", options->data, "Data file or folder instead of the job's").Type("PATH");
  AddComputeOptions(sub, options->compute);
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunBench);
}

}  // namespace assay::cli
