#include "assay/exec/executor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "assay/base/check.h"
#include "assay/exec/memory.h"
#include "assay/exec/plan.h"

namespace assay {
namespace {

using exec::Argument;
using exec::Location;
using exec::Place;
using exec::PlannedLaunch;
using exec::PlannedNode;

constexpr std::size_t kMaxElementwiseInputs = 16;
constexpr std::size_t kMaxElementwiseOutputs = 4;
// Elements handed to a thread at a time: enough to pay for waking it.
constexpr std::int64_t kMinGrain = 4 * exec::kBlock;

// A plan together with the memory it runs in.
struct Prepared {
  explicit Prepared(exec::Plan p) : plan(std::move(p)) {}
  exec::Plan plan;
  exec::Memory arena;
  exec::Memory scratch;  // scratch_slots for each worker
};

// The memory of one run.
struct Frame {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  char* arena = nullptr;

  // Inputs are only ever written where an alias says that they are outputs too, so handing out one kind of pointer is harmless.
  char* At(Location location) const {
    switch (location.place) {
      case Place::kInput: return const_cast<char*>(static_cast<const char*>(inputs[location.at]));
      case Place::kOutput: return static_cast<char*>(outputs[location.at]);
      case Place::kArena: return arena + location.at;
      case Place::kScratch: break;
    }
    CheckFailed("a place outside the scratch", __FILE__, __LINE__);
  }
};

void CopyAll(std::span<const exec::Copy> copies, const Frame& frame) {
  for (const exec::Copy& copy : copies) {
    char* to = frame.At(copy.to);
    const char* from = frame.At(copy.from);
    if (copy.bytes != 0 && to != from) std::memmove(to, from, copy.bytes);
  }
}

// One argument of a node in a group, resolved for a run: the pointer for the block that starts at element i is base + i * step, or
// slot of the worker's scratch.
struct Resolved {
  char* base = nullptr;
  std::size_t step = 0;
  std::size_t slot = SIZE_MAX;

  char* Block(std::int64_t element, char* scratch) const {
    return slot == SIZE_MAX ? base + static_cast<std::size_t>(element) * step : scratch + slot * exec::kSlotBytes;
  }
};

Resolved Resolve(const Location& location, std::size_t step, const Frame& frame) {
  if (location.place == Place::kScratch) return {nullptr, 0, location.at};
  return {frame.At(location), step, SIZE_MAX};
}

struct ResolvedNode {
  const OpInstance* op = nullptr;
  std::size_t ins = 0;
  std::size_t outs = 0;
  std::array<Resolved, kMaxElementwiseInputs> in;
  std::array<Resolved, kMaxElementwiseOutputs> out;
};

ResolvedNode ResolveNode(const PlannedNode& node, const Frame& frame) {
  ResolvedNode resolved;
  resolved.op = &node.op;
  resolved.ins = node.in.size();
  resolved.outs = node.out.size();
  ASSAY_CHECK(resolved.ins <= kMaxElementwiseInputs && resolved.outs <= kMaxElementwiseOutputs);
  for (std::size_t k = 0; k < node.in.size(); ++k) {
    resolved.in[k] = Resolve(node.in[k].location, node.in[k].aligned ? node.in[k].element_bytes : 0, frame);
  }
  for (std::size_t k = 0; k < node.out.size(); ++k) {
    resolved.out[k] = Resolve(node.out[k].location, node.out[k].element_bytes, frame);
  }
  return resolved;
}

void RunBlock(Backend& backend, const ResolvedNode& node, std::int64_t begin, std::int64_t end, char* scratch) {
  std::array<const void*, kMaxElementwiseInputs> in;
  std::array<void*, kMaxElementwiseOutputs> out;
  for (std::size_t k = 0; k < node.ins; ++k) in[k] = node.in[k].Block(begin, scratch);
  for (std::size_t k = 0; k < node.outs; ++k) out[k] = node.out[k].Block(begin, scratch);
  backend.RunElements({node.op, {in.data(), node.ins}, {out.data(), node.outs}}, begin, end);
}

void RunGroup(Backend& backend, const PlannedLaunch& launch, const Frame& frame, const exec::Memory& scratch,
              std::size_t slots) {
  std::vector<ResolvedNode> nodes;
  for (const PlannedNode& node : launch.nodes) nodes.push_back(ResolveNode(node, frame));
  struct Out {
    Resolved from, to;
    std::size_t element_bytes;
  };
  std::vector<Out> flushes;
  for (const exec::Flush& flush : launch.flushes) {
    flushes.push_back({{nullptr, 0, flush.slot}, Resolve(flush.to, flush.element_bytes, frame), flush.element_bytes});
  }
  const std::int64_t share = launch.elements / (4 * backend.workers()) / exec::kBlock * exec::kBlock;
  backend.ParallelFor(launch.elements, std::max(share, kMinGrain), [&](std::int64_t begin, std::int64_t end, int worker) {
    char* mine = scratch.data() + static_cast<std::size_t>(worker) * slots * exec::kSlotBytes;
    for (std::int64_t block = begin; block < end; block += exec::kBlock) {
      const std::int64_t block_end = std::min(end, block + exec::kBlock);
      for (const ResolvedNode& node : nodes) RunBlock(backend, node, block, block_end, mine);
      for (const Out& flush : flushes) {
        std::memcpy(flush.to.Block(block, mine), flush.from.Block(block, mine),
                    static_cast<std::size_t>(block_end - block) * flush.element_bytes);
      }
    }
  });
}

void RunGeneral(Backend& backend, const PlannedNode& node, const Frame& frame) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Argument& argument : node.in) in.push_back(frame.At(argument.location));
  for (const Argument& argument : node.out) out.push_back(frame.At(argument.location));
  backend.Run({&node.op, in, out});
}

// Where the outputs of a one-node launch are after it has run.
std::vector<const void*> VisibleOutputs(const PlannedLaunch& launch, const Frame& frame) {
  std::vector<const void*> visible;
  for (const Argument& argument : launch.nodes.front().out) {
    Location location = argument.location;
    for (const exec::Flush& flush : launch.flushes) {
      if (location.place == Place::kScratch && flush.slot == location.at) location = flush.to;
    }
    visible.push_back(frame.At(location));
  }
  return visible;
}

}  // namespace

struct Executor::Impl {
  Impl(const Graph& g, Backend& b, ExecOptions o) : graph(g), backend(b), options(std::move(o)), fast(MakePlan(false)) {
    ASSAY_CHECK(!options.own_outputs || options.aliases.empty());
  }

  exec::Plan MakePlan(bool every_node) const {
    exec::PlanOptions plan;
    plan.schedule.fuse = options.fuse && !every_node;
    plan.schedule.alias_reshape = !every_node;
    plan.in_place = backend.in_place();
    plan.keep_all_outputs = every_node;
    plan.outputs_in_arena = options.own_outputs;
    plan.aliases = options.aliases;
    return exec::MakePlan(graph, plan);
  }

  void Run(Prepared& prepared, std::span<const void* const> inputs, std::span<void* const> outputs, const TraceSink* sink) {
    const exec::Plan& plan = prepared.plan;
    ASSAY_CHECK(inputs.size() == graph.inputs().size());
    ASSAY_CHECK(outputs.size() == (options.own_outputs ? 0 : graph.outputs().size()));
    if (prepared.arena.data() == nullptr) {
      prepared.arena = exec::Memory(plan.arena_bytes);
      prepared.scratch = exec::Memory(static_cast<std::size_t>(backend.workers()) * plan.scratch_slots * exec::kSlotBytes);
    }
    const Frame frame{inputs, outputs, prepared.arena.data()};
    CopyAll(plan.prologue, frame);
    for (const PlannedLaunch& launch : plan.launches) {
      if (launch.elementwise) {
        RunGroup(backend, launch, frame, prepared.scratch, plan.scratch_slots);
      } else {
        RunGeneral(backend, launch.nodes.front(), frame);
      }
      if (sink != nullptr) (*sink)(launch.nodes.front().node, VisibleOutputs(launch, frame));
    }
    CopyAll(plan.epilogue, frame);
    if (!options.own_outputs) return;
    own_outputs.clear();
    for (const Location& location : plan.outputs) own_outputs.push_back(frame.At(location));
  }

  const Graph& graph;
  Backend& backend;
  ExecOptions options;
  Prepared fast;
  std::optional<Prepared> traced;  // planned at the first traced run
  std::vector<const void*> own_outputs;
};

Executor::Executor(const Graph& graph, Backend& backend, ExecOptions options)
    : impl_(std::make_unique<Impl>(graph, backend, std::move(options))) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;

void Executor::Run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  impl_->Run(impl_->fast, inputs, outputs, nullptr);
}

void Executor::RunTraced(std::span<const void* const> inputs, std::span<void* const> outputs, const TraceSink& sink) {
  if (!impl_->traced) impl_->traced.emplace(impl_->MakePlan(true));
  impl_->Run(*impl_->traced, inputs, outputs, &sink);
}

const void* Executor::output(std::size_t k) const { return impl_->own_outputs.at(k); }

std::size_t Executor::arena_bytes() const { return impl_->fast.plan.arena_bytes; }
std::size_t Executor::groups() const { return impl_->fast.plan.launches.size(); }

}  // namespace assay
