// Plan: where every value of a scheduled graph lives while the graph runs. Made once, then followed by the executor.
//
// - A value that is only used inside one fused group lives in a slot of the group.
// - A graph output is computed in the caller's memory (or in the arena, when the executor owns the outputs).
// - Everything else has a place in one arena, shared by values that are not alive together; an element-by-element result takes the
//   place of an operand that dies with it.
// Value types; immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "assay/exec/launch_schedule.h"
#include "assay/graph/graph.h"

namespace assay::exec {

enum class Place : std::uint8_t { kInput, kOutput, kArena, kSlot };

struct Location {
  Place place = Place::kArena;
  std::size_t at = 0;  // index of the graph input or output, byte offset in the arena, or slot of the group
};

struct Argument {
  ValueId value = 0;  // the root value
  Location location;
  bool aligned = false;  // points at the block rather than at element 0
  std::uint32_t element_bytes = 0;
};

// A result that is computed in a slot and copied when its block is complete, because its place is still being read.
struct Flush {
  std::size_t slot = 0;
  Location to;
  std::uint32_t element_bytes = 0;
};

struct PlannedNode {
  NodeIndex node = 0;
  OpInstance op;
  std::vector<Argument> in;
  std::vector<Argument> out;
};

struct PlannedLaunch {
  bool elementwise = false;
  std::int64_t elements = 0;
  std::vector<PlannedNode> nodes;
  std::vector<Flush> flushes;
  std::size_t slots = 0;
};

struct Copy {
  Location from;
  Location to;
  std::size_t bytes = 0;
};

struct PlanOptions {
  ScheduleOptions schedule;
  bool in_place = true;           // the backend allows an elementwise output in the place of an aligned input
  bool keep_all_outputs = false;  // every output of a node can be looked at after its launch
  bool outputs_in_arena = false;
  std::vector<std::pair<std::size_t, std::size_t>> aliases;  // graph output, graph input: the same memory
};

struct Plan {
  std::vector<Copy> prologue;
  std::vector<PlannedLaunch> launches;
  std::vector<Copy> epilogue;
  std::vector<Location> outputs;  // where each graph output is after the run
  std::size_t arena_bytes = 0;
  std::size_t arena_lower_bound = 0;  // the most bytes alive at one moment
};

Plan MakePlan(const Graph& graph, const PlanOptions& options);

}  // namespace assay::exec
