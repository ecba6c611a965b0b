// Schedule: in which launches the nodes of a graph run. A launch is one general node, or a group of elementwise nodes with the same
// number of elements that runs block by block, so that what is used only inside the group never reaches memory.
//
// Every node runs exactly once and after everything it reads, so a schedule cannot change a result. Pure functions; value types.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/graph/graph.h"

namespace assay::exec {

using NodeIndex = std::uint32_t;

struct Launch {
  bool elementwise = false;
  std::int64_t elements = 0;     // of every node in an elementwise launch
  std::vector<NodeIndex> nodes;  // in order; exactly one unless elementwise
};

struct ScheduleOptions {
  bool fuse = true;
  // A reshape shares its input's memory and is not launched. Off in traced runs, where each node must run.
  bool alias_reshape = true;
};

struct Schedule {
  std::vector<Launch> launches;
  std::vector<ValueId> root;  // for each value, the value whose memory it shares: itself, or what an unlaunched reshape reads
};

Schedule MakeSchedule(const Graph& graph, const ScheduleOptions& options);

// Whether input k of the node is read element by element rather than as a whole.
bool ReadsAligned(const OpDef& def, std::size_t k);

}  // namespace assay::exec
