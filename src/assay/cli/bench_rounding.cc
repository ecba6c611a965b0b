#include "assay/cli/bench_rounding.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <map>

#include "assay/cli/counter.h"
#include "assay/cli/json.h"
#include "assay/cli/progress.h"
#include "assay/cli/text.h"
#include "assay/exec/step_nodes.h"
#include "assay/train/stepper.h"

namespace assay::cli {
namespace {

enum Mode : std::size_t { kPlain, kRecord, kFollow };
constexpr std::array<std::string_view, 3> kNames = {"plain", "record", "follow"};

struct Cost {
  std::vector<double> wall, cpu;      // seconds of each step; cpu is that of all threads
  std::map<std::string, double> ops;  // seconds by operator, of one step; of all threads on the host
  double best_wall() const { return *std::ranges::min_element(wall); }
  double best_cpu() const { return *std::ranges::min_element(cpu); }
};

double Wall() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double Cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Totals {
  std::array<Cost, 3> costs;
  std::uint64_t log_bytes = 0, decisions = 0, elements = 0;
};

// One step from the state; the outcome's log.
StepOutcome Timed(Stepper& stepper, State state, std::int64_t step, Backend& backend, Cost& cost) {
  backend.Wait();
  const double wall = Wall(), cpu = Cpu();
  StepOutcome outcome = stepper.Run(state, stepper.Plan(step));
  backend.Wait();
  cost.wall.push_back(Wall() - wall);
  cost.cpu.push_back(Cpu() - cpu);
  return outcome;
}

// The same, operator by operator: a device is waited for after each, so that the whole takes longer.
void TimeOps(Stepper& stepper, const StepNodes& nodes, State state, std::int64_t step, Backend& backend, Cost& cost) {
  const auto clock = backend.AsHost() != nullptr ? &Cpu : &Wall;
  backend.Wait();
  double last = clock();
  stepper.RunTraced(state, stepper.Plan(step), [&](std::size_t node, std::span<const void* const>) {
    backend.Wait();
    const double now = clock();
    cost.ops[std::string(nodes.Instance(node).def->name)] += now - last;
    last = now;
  });
}

State CopyOf(const State& state, MemorySpace& space) {
  State copy;
  for (const Tensor& tensor : state) copy.push_back(tensor.CopyTo(space));
  return copy;
}

Result<Totals> Measure(const PreparedJob& prepared, Backend& backend, int steps) {
  ASSAY_ASSIGN(const State start, StartingState(prepared));
  State state = CopyOf(start, backend.memory());
  const auto copy = [&] { return CopyOf(state, backend.memory()); };
  const StepNodes nodes(prepared.program);
  Stepper recording(prepared, backend), plain(prepared, backend);
  plain.IgnoreRoundings();
  Totals totals;
  Counter counter(stderr, ProgressModeFor(stderr, false) == ProgressMode::kBar, "timing step", steps);
  State scratch = copy();
  plain.Run(scratch, plain.Plan(0));  // both touch all memory
  rounding::StepReport report = recording.Run(state, recording.Plan(0)).rounding->report;
  for (std::int64_t step = 1; step <= steps; ++step) {
    Timed(plain, copy(), step, backend, totals.costs[kPlain]);
    report = Timed(recording, copy(), step, backend, totals.costs[kRecord]).rounding->report;
    ASSAY_TRY(recording.FollowRoundings(report.log, "log"));
    Timed(recording, copy(), step, backend, totals.costs[kFollow]);
    totals.log_bytes += report.log.size();
    totals.decisions += report.decisions;
    totals.elements += report.elements;
    counter.Tick();
  }
  TimeOps(plain, nodes, copy(), steps, backend, totals.costs[kPlain]);
  TimeOps(recording, nodes, copy(), steps, backend, totals.costs[kRecord]);
  ASSAY_TRY(recording.FollowRoundings(report.log, "log"));
  TimeOps(recording, nodes, copy(), steps, backend, totals.costs[kFollow]);
  return totals;
}

OrderedJson OpsOf(const std::array<Cost, 3>& costs) {
  OrderedJson ops;
  for (const auto& [op, seconds] : costs[kRecord].ops) {
    for (std::size_t mode = 0; mode < costs.size(); ++mode) ops[op][std::string(kNames[mode])] = costs[mode].ops.at(op);
  }
  return ops;
}

}  // namespace

Result<int> BenchRounding(const PreparedJob& prepared, const Compute& compute, int steps, bool json) {
  ASSAY_ASSIGN(const Totals totals, Measure(prepared, *compute.backend, steps));
  const auto& costs = totals.costs;
  const auto n = static_cast<std::uint64_t>(steps);
  if (json) {
    OrderedJson modes;
    for (std::size_t mode = 0; mode < costs.size(); ++mode) {
      modes[std::string(kNames[mode])] = {{"seconds", costs[mode].best_wall()},
                                          {"cpu_seconds", costs[mode].best_cpu()},
                                          {"ratio", costs[mode].best_wall() / costs[kPlain].best_wall()},
                                          {"cpu_ratio", costs[mode].best_cpu() / costs[kPlain].best_cpu()}};
    }
    fmt::print("{}\n", Dump({{"job", prepared.job.name},
                             {"device", compute.device},
                             {"threads", compute.pool->threads()},
                             {"steps", steps},
                             {"modes", modes},
                             {"log_bytes", totals.log_bytes / n},
                             {"decisions", totals.decisions / n},
                             {"elements", totals.elements / n},
                             {"operators", OpsOf(costs)},
                             {"device_peak_bytes", compute.backend->peak_bytes()}}));
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {{"step", "s", "ratio", "CPU s", "ratio"}};
  for (std::size_t mode = 0; mode < costs.size(); ++mode) {
    rows.push_back({std::string(kNames[mode]), fmt::format("{:.3f}", costs[mode].best_wall()),
                    fmt::format("{:.3f}", costs[mode].best_wall() / costs[kPlain].best_wall()),
                    fmt::format("{:.3f}", costs[mode].best_cpu()),
                    fmt::format("{:.3f}", costs[mode].best_cpu() / costs[kPlain].best_cpu())});
  }
  fmt::print("{}\n", Table(rows));
  std::vector<std::pair<double, std::string>> slowest;
  for (const auto& [op, seconds] : costs[kRecord].ops) slowest.emplace_back(seconds, op);
  std::ranges::sort(slowest, std::greater<>());
  rows = {{"operator", "plain ms", "record ms", "follow ms"}};
  for (const auto& [seconds, op] : slowest) {
    std::vector<std::string> row = {op};
    for (const Cost& cost : costs) row.push_back(fmt::format("{:.1f}", 1e3 * cost.ops.at(op)));
    rows.push_back(std::move(row));
  }
  fmt::print("{}\nlog of a step: {} bytes, {} close calls among {} rounded elements\n", Table(rows),
             Grouped(static_cast<std::int64_t>(totals.log_bytes / n)), Grouped(static_cast<std::int64_t>(totals.decisions / n)),
             Grouped(static_cast<std::int64_t>(totals.elements / n)));
  return kExitOk;
}

}  // namespace assay::cli
