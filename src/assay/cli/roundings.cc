// assay roundings: which operators a step's close calls come from.
#include <algorithm>
#include <map>

#include "assay/cli/command.h"
#include "assay/cli/json.h"
#include "assay/cli/text.h"
#include "assay/exec/step_nodes.h"
#include "assay/ops/table.h"
#include "assay/rounding/decision_log.h"
#include "assay/run/directory.h"
#include "assay/run/rounding_logs.h"
#include "assay/train/job_paths.h"

namespace assay::cli {
namespace {

struct RoundingsOptions {
  std::string run;
  std::int64_t step = 1;
  bool nodes = false;
  bool json = false;
};

constexpr std::uint64_t kMaxProgramBytes = std::uint64_t{1} << 30;

struct Tally {
  std::uint64_t elements = 0;
  std::uint64_t decisions = 0;
  std::uint64_t wide = 0;
};

// By operator, or by node.
std::map<std::string, Tally> Count(const Program& program, const rounding::DecisionLog& log, bool by_node) {
  const StepNodes nodes(program);
  std::map<std::string, Tally> tallies;
  auto next = log.decisions.begin();
  std::uint64_t end = 0;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const OpInstance op = nodes.Instance(n);
    if (!op.def->has_bound()) continue;
    Tally& tally = tallies[by_node ? fmt::format("{:05} {}", n, nodes.Describe(n)) : std::string(op.def->name)];
    for (const TensorType& type : op.out) {
      if (type.dtype != DType::kF32) continue;
      tally.elements += static_cast<std::uint64_t>(type.elements());
      end += static_cast<std::uint64_t>(type.elements());
    }
    for (; next != log.decisions.end() && next->position < end; ++next) {
      ++tally.decisions;
      tally.wide += next->wide ? 1 : 0;
    }
  }
  return tallies;
}

Result<int> RunRoundings(const RoundingsOptions& options) {
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.run));
  ASSAY_ASSIGN(const Bytes encoded, ReadFile(JoinPath(run.path(), "program.bin"), kMaxProgramBytes));
  ASSAY_ASSIGN(const Program program, DecodeProgram(Ops(), encoded));
  ASSAY_ASSIGN(const Job job, LoadRunJob(run, ""));
  if (job.precision != Precision::kFp64Rounded) {
    return Err("{}: has no rounding logs: its job's precision is not fp64-rounded", run.path());
  }
  ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(run.rounding_path()));
  ASSAY_ASSIGN(const Bytes bytes, logs.Read(options.step));
  ASSAY_ASSIGN(const rounding::DecisionLog log,
               rounding::DecodeDecisions(bytes, fmt::format("rounding log of step {}", options.step)));
  const auto tallies = Count(program, log, options.nodes);
  if (options.json) {
    OrderedJson rows = OrderedJson::array();
    for (const auto& [name, tally] : tallies) {
      rows.push_back({{"name", name}, {"elements", tally.elements}, {"decisions", tally.decisions}, {"wide", tally.wide}});
    }
    fmt::print("{}\n", Dump({{"step", options.step},
                             {"bytes", bytes.size()},
                             {"elements", log.elements},
                             {"decisions", log.decisions.size()},
                             {"from", rows}}));
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows = {
      {options.nodes ? "node" : "operator", "elements", "close calls", "wide", "per million"}};
  for (const auto& [name, tally] : tallies) {
    rows.push_back({name, Grouped(static_cast<std::int64_t>(tally.elements)),
                    Grouped(static_cast<std::int64_t>(tally.decisions)), Grouped(static_cast<std::int64_t>(tally.wide)),
                    fmt::format("{:.1f}", 1e6 * static_cast<double>(tally.decisions) /
                                              static_cast<double>(std::max<std::uint64_t>(1, tally.elements)))});
  }
  fmt::print("{}\n{} among {}, {}\n", Table(rows), Plural(static_cast<std::int64_t>(log.decisions.size()), "close call"),
             Plural(static_cast<std::int64_t>(log.elements), "rounded element"),
             Plural(static_cast<std::int64_t>(bytes.size()), "byte"));
  return kExitOk;
}

}  // namespace

void AddRoundings(Arguments& app, Command& command) {
  auto options = std::make_shared<RoundingsOptions>();
  Subcommand sub = app.Add("roundings", "Show where the close calls of a rounded step come from");
  sub.Footer("Example: assay roundings runs/gpt2 --step 20");
  sub.Option("run", options->run, "Run directory of an fp64-rounded job").Required().Type("RUN");
  sub.Option("--step", options->step, "The step").ShowDefault().Range(std::int64_t{1}, std::int64_t{0xffffffff}).Type("N");
  sub.Flag("--nodes", options->nodes, "By node instead of by operator");
  sub.Flag("--json", options->json, "Print one JSON object");
  SetCommand(sub, std::move(options), command, RunRoundings);
}

}  // namespace assay::cli
