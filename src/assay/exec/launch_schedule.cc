#include "assay/exec/launch_schedule.h"

#include <algorithm>
#include <span>

#include "assay/base/check.h"
#include "assay/ops/table.h"

namespace assay::exec {
namespace {

// A group is not extended across more launches than this, lest a value computed early wait long for its use.
constexpr int kHoistWindow = 8;
constexpr std::size_t kMaxGroup = 32;
constexpr int kGraphInput = -1;
constexpr int kPending = -2;

class Scheduler {
 public:
  Scheduler(const Graph& graph, const ScheduleOptions& options)
      : graph_(graph), options_(options), launch_of_(graph.values(), kGraphInput), node_of_(graph.values(), 0) {
    schedule_.root.resize(graph.values());
    for (ValueId v = 0; v < graph.values(); ++v) schedule_.root[v] = v;
    AliasReshapes();
  }

  Schedule Take() && {
    for (NodeIndex n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      for (std::uint32_t k = 0; k < node.outputs; ++k) {
        node_of_[node.first_output + k] = n;
        launch_of_[node.first_output + k] = kPending;
      }
      if (aliased_[n]) continue;
      if (!graph_.def(node).elementwise) {
        for (ValueId v : node.inputs) Materialize(Root(v));
        Start(n);
      } else if (!IsLazy(node)) {
        PlaceElementwise(n);
      }
    }
    for (const NamedValue& output : graph_.outputs()) Materialize(Root(output.value));
    return std::move(schedule_);
  }

 private:
  ValueId Root(ValueId v) const { return schedule_.root[v]; }

  // A reshape of a graph input that is itself a graph output has to be copied, and so has a second output in the same memory.
  void AliasReshapes() {
    aliased_.assign(graph_.nodes().size(), false);
    if (!options_.alias_reshape) return;
    std::vector<bool> is_output(graph_.values(), false);
    for (const NamedValue& output : graph_.outputs()) is_output[output.value] = true;
    std::vector<bool> taken(graph_.values(), false);  // by root: memory that a graph output cannot share
    for (const NamedValue& input : graph_.inputs()) taken[input.value] = true;
    for (NodeIndex n = 0; n < graph_.nodes().size(); ++n) {
      const Node& node = graph_.nodes()[n];
      const ValueId out = node.first_output;
      if (node.op == op::reshape && !(is_output[out] && taken[Root(node.inputs[0])])) {
        aliased_[n] = true;
        schedule_.root[out] = Root(node.inputs[0]);
      }
      for (std::uint32_t k = 0; k < node.outputs; ++k) {
        if (is_output[out + k]) taken[Root(out + k)] = true;
      }
    }
  }

  // Producers without an aligned input (constants, broadcasts) wait for their first use, to join its group.
  bool IsLazy(const Node& node) const {
    if (!options_.fuse) return false;
    const OpDef& def = graph_.def(node);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (ReadsAligned(def, k)) return false;
    }
    return true;
  }

  void Assign(NodeIndex n, int launch) {
    const Node& node = graph_.nodes()[n];
    for (std::uint32_t k = 0; k < node.outputs; ++k) launch_of_[node.first_output + k] = launch;
  }

  void Start(NodeIndex n) {
    const Node& node = graph_.nodes()[n];
    Launch launch;
    launch.elementwise = graph_.def(node).elementwise;
    launch.elements = graph_.type(node.first_output).elements();
    launch.nodes.push_back(n);
    schedule_.launches.push_back(std::move(launch));
    Assign(n, Last());
  }

  int Last() const { return static_cast<int>(schedule_.launches.size()) - 1; }

  void Materialize(ValueId root) {
    if (launch_of_[root] == kPending) PlaceElementwise(node_of_[root]);
  }

  bool Fits(int launch, std::int64_t elements, std::size_t nodes) const {
    if (launch < 0) return false;
    const Launch& group = schedule_.launches[static_cast<std::size_t>(launch)];
    return group.elementwise && group.elements == elements && group.nodes.size() + nodes <= kMaxGroup;
  }

  void PlaceElementwise(NodeIndex n) {
    if (!options_.fuse) return Start(n);
    // What comes along: pending producers that this node reads element by element.
    std::vector<NodeIndex> nodes;
    int latest_aligned = kGraphInput;
    int latest_whole = kGraphInput;
    const Node& node = graph_.nodes()[n];
    const OpDef& def = graph_.def(node);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId root = Root(node.inputs[k]);
      if (!ReadsAligned(def, k)) {
        latest_whole = std::max(latest_whole, WholeInput(root));
      } else if (launch_of_[root] == kPending) {
        const NodeIndex lazy = node_of_[root];
        if (std::find(nodes.begin(), nodes.end(), lazy) == nodes.end()) nodes.push_back(lazy);
        for (ValueId v : graph_.nodes()[lazy].inputs) latest_whole = std::max(latest_whole, WholeInput(Root(v)));
      } else {
        latest_aligned = std::max(latest_aligned, launch_of_[root]);
      }
    }
    // A whole input of this node may have been one of the pending producers, and have run by now.
    std::erase_if(nodes, [&](NodeIndex lazy) { return launch_of_[graph_.nodes()[lazy].first_output] != kPending; });
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId root = Root(node.inputs[k]);
      if (ReadsAligned(def, k) && launch_of_[root] != kPending) latest_aligned = std::max(latest_aligned, launch_of_[root]);
    }
    nodes.push_back(n);
    const std::int64_t elements = graph_.type(node.first_output).elements();
    int target = -1;
    if (latest_whole < latest_aligned && Last() - latest_aligned < kHoistWindow &&
        Fits(latest_aligned, elements, nodes.size())) {
      target = latest_aligned;
    } else if (latest_whole < Last() && Fits(Last(), elements, nodes.size())) {
      target = Last();
    }
    if (target < 0) {
      Start(nodes.front());
      nodes.erase(nodes.begin());
      target = Last();
    }
    for (NodeIndex added : nodes) {
      schedule_.launches[static_cast<std::size_t>(target)].nodes.push_back(added);
      Assign(added, target);
    }
  }

  int WholeInput(ValueId root) {
    Materialize(root);
    return launch_of_[root];
  }

  const Graph& graph_;
  const ScheduleOptions options_;
  Schedule schedule_;
  std::vector<bool> aliased_;
  std::vector<int> launch_of_;      // by root value
  std::vector<NodeIndex> node_of_;  // by value
};

}  // namespace

bool ReadsAligned(const OpDef& def, std::size_t k) { return def.elementwise && k < 32 && (def.aligned_inputs >> k & 1) != 0; }

Schedule MakeSchedule(const Graph& graph, const ScheduleOptions& options) { return Scheduler(graph, options).Take(); }

}  // namespace assay::exec
