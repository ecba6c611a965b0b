#include "assay/exec/executor.h"

#include <algorithm>
#include <optional>

#include "assay/base/check.h"
#include "assay/exec/plan.h"

namespace assay {
namespace {

using exec::Argument;
using exec::Location;
using exec::Place;
using exec::PlannedLaunch;
using exec::PlannedNode;

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
      case Place::kSlot: break;
    }
    CheckFailed("a place in memory", __FILE__, __LINE__);
  }
};

GroupArgument Resolve(const Argument& argument, const Frame& frame) {
  GroupArgument resolved{.aligned = argument.aligned, .element_bytes = argument.element_bytes};
  if (argument.location.place == Place::kSlot) {
    resolved.slot = argument.location.at;
  } else {
    resolved.base = frame.At(argument.location);
  }
  return resolved;
}

Group ResolveGroup(const PlannedLaunch& launch, const Frame& frame) {
  Group group{.elements = launch.elements, .nodes = {}, .flushes = {}, .slots = launch.slots};
  for (const PlannedNode& node : launch.nodes) {
    GroupNode& resolved = group.nodes.emplace_back();
    resolved.op = &node.op;
    for (const Argument& argument : node.in) resolved.in.push_back(Resolve(argument, frame));
    for (const Argument& argument : node.out) resolved.out.push_back(Resolve(argument, frame));
  }
  for (const exec::Flush& flush : launch.flushes)
    group.flushes.push_back({flush.slot, frame.At(flush.to), flush.element_bytes});
  return group;
}

void RunGeneral(Backend& backend, const PlannedNode& node, const Frame& frame) {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Argument& argument : node.in) in.push_back(frame.At(argument.location));
  for (const Argument& argument : node.out) out.push_back(frame.At(argument.location));
  backend.Run({&node.op, in, out});
}

void CopyAll(Backend& backend, std::span<const exec::Copy> copies, const Frame& frame) {
  for (const exec::Copy& copy : copies) backend.memory().CopyInside(frame.At(copy.to), frame.At(copy.from), copy.bytes);
}

// Microbatches write to as many places as the tree that adds them has sets.
constexpr std::size_t kMaxRecordings = 32;

// What a recording was made of: it can only be replayed with the same operands.
struct Recorded {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::unique_ptr<Recording> recording;
};

// A plan together with the memory it runs in.
struct Prepared {
  explicit Prepared(exec::Plan p) : plan(std::move(p)) {}
  exec::Plan plan;
  Allocation arena;
  std::vector<Recorded> recorded;  // by operands; the newest last
};

// Where the outputs of a one-node launch are after it has run.
std::vector<const void*> VisibleOutputs(const PlannedLaunch& launch, const Frame& frame) {
  std::vector<const void*> visible;
  for (const Argument& argument : launch.nodes.front().out) {
    Location location = argument.location;
    for (const exec::Flush& flush : launch.flushes) {
      if (location.place == Place::kSlot && flush.slot == location.at) location = flush.to;
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
    // Results that are rounded are numbered in the order of a traced run.
    plan.schedule.fuse = options.fuse && !every_node && backend.rounder() == nullptr;
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
    if (prepared.arena.data() == nullptr) prepared.arena = Allocation(backend.memory(), plan.arena_bytes);
    const Frame frame{inputs, outputs, static_cast<char*>(prepared.arena.data())};
    if (sink != nullptr) {
      RunLaunches(plan, frame, sink);
    } else if (!Replay(prepared, frame)) {
      RunLaunches(plan, frame, nullptr);
    }
    if (!options.own_outputs) return;
    own_outputs.clear();
    for (const Location& location : plan.outputs) own_outputs.push_back(frame.At(location));
  }

  void RunLaunches(const exec::Plan& plan, const Frame& frame, const TraceSink* sink) {
    CopyAll(backend, plan.prologue, frame);
    for (const PlannedLaunch& launch : plan.launches) {
      if (launch.elementwise) {
        backend.RunGroup(ResolveGroup(launch, frame));
      } else {
        RunGeneral(backend, launch.nodes.front(), frame);
      }
      if (sink != nullptr) (*sink)(launch.nodes.front().node, VisibleOutputs(launch, frame));
    }
    CopyAll(backend, plan.epilogue, frame);
  }

  // Runs by a recording. One is made at the second run with the same operands: the first has shown what memory kernels want for themselves.
  bool Replay(Prepared& prepared, const Frame& frame) {
    if (backend.AsHost() != nullptr) return false;
    const auto same = [&](const Recorded& r) {
      return std::ranges::equal(r.inputs, frame.inputs) && std::ranges::equal(r.outputs, frame.outputs);
    };
    const auto found = std::ranges::find_if(prepared.recorded, same);
    if (found == prepared.recorded.end()) {
      if (prepared.recorded.size() == kMaxRecordings) prepared.recorded.erase(prepared.recorded.begin());
      prepared.recorded.push_back(
          {{frame.inputs.begin(), frame.inputs.end()}, {frame.outputs.begin(), frame.outputs.end()}, nullptr});
      return false;
    }
    if (!found->recording) found->recording = backend.Record([&] { RunLaunches(prepared.plan, frame, nullptr); });
    if (!found->recording) return false;
    found->recording->Replay();
    return true;
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
