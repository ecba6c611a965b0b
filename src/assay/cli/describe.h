// A job in words and numbers: what `assay show` and `assay bench` say about it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "assay/cli/json.h"
#include "assay/train/prepare.h"

namespace assay::cli {

std::string DescribeModel(const ModelConfig& model);  // "GPT-2, 4 layers, 4 heads, width 128, context 64, vocabulary 65"
std::string DescribeOptimizer(const OptimizerConfig& optimizer);
std::string DescribeSchedule(const Schedule& schedule);

struct ProgramSummary {
  std::size_t micro_nodes = 0, update_nodes = 0;
  double flops = 0;  // of a whole step
  double state_bytes = 0;
  double working_bytes = 0;                // beside the state
  std::map<std::string, std::size_t> ops;  // nodes of a step by op, a microbatch's counted once
};
ProgramSummary Summarize(const Program& program);

// Flops of one pass through the graph.
double FlopsOf(const Graph& graph);

// What there is to say about a job, also where its data is not at hand.
struct JobView {
  Job job;
  Program program;
  RunIdentity identity;
  std::optional<std::string> data;  // in words; none: not looked at
};
JobView ViewOf(PreparedJob prepared);

std::string JobText(const JobView& view);
OrderedJson JobJson(const JobView& view);

}  // namespace assay::cli
