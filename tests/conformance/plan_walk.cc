#include "conformance/plan_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace assay::testkit {
namespace {

using exec::Argument;
using exec::Location;
using exec::Place;

constexpr ValueId kNobody = 0xffffffff;
constexpr std::size_t kCell = 64;  // bytes of the arena that have one owner

std::size_t MostSlots(const exec::Plan& plan) {
  std::size_t most = 0;
  for (const exec::PlannedLaunch& launch : plan.launches) most = std::max(most, launch.slots);
  return most;
}

class Walk {
 public:
  Walk(const Graph& graph, const exec::PlanOptions& options, const exec::Plan& plan)
      : graph_(graph),
        options_(options),
        plan_(plan),
        schedule_(exec::MakeSchedule(graph, options.schedule)),
        arena_(plan.arena_bytes / kCell, kNobody),
        outputs_(graph.outputs().size(), kNobody),
        slots_(MostSlots(plan), kNobody) {
    for (const NamedValue& input : graph.inputs()) inputs_.push_back(input.value);
  }

  std::string Run() {
    for (const exec::Copy& copy : plan_.prologue) Move(copy);
    for (const exec::PlannedLaunch& launch : plan_.launches) {
      std::string error = launch.elementwise ? Group(launch) : General(launch.nodes.front());
      if (!error.empty()) return error;
    }
    for (const exec::Copy& copy : plan_.epilogue) {
      if (std::string error = Read(OwnerAt(copy.from), copy.from, copy.bytes, "epilogue"); !error.empty()) return error;
      Move(copy);
    }
    for (std::size_t k = 0; k < graph_.outputs().size(); ++k) {
      const ValueId root = schedule_.root[graph_.outputs()[k].value];
      if (std::string error = Read(root, plan_.outputs[k], graph_.type(root).bytes(), "output"); !error.empty()) return error;
    }
    return {};
  }

 private:
  using Cells = std::set<std::pair<int, std::size_t>>;

  // Aliased outputs are the same memory as their input.
  Location Canonical(Location location) const {
    for (const auto& [output, input] : options_.aliases) {
      if (location.place == Place::kOutput && location.at == output) return {Place::kInput, input};
    }
    return location;
  }

  Cells CellsOf(Location location, std::size_t bytes) const {
    location = Canonical(location);
    Cells cells;
    if (location.place != Place::kArena) {
      cells.emplace(static_cast<int>(location.place), location.at);
      return cells;
    }
    for (std::size_t at = location.at; at < location.at + std::max<std::size_t>(bytes, 1); at += kCell) {
      cells.emplace(static_cast<int>(Place::kArena), at / kCell);
    }
    return cells;
  }

  ValueId& Owner(const std::pair<int, std::size_t>& cell) {
    switch (static_cast<Place>(cell.first)) {
      case Place::kInput: return inputs_.at(cell.second);
      case Place::kOutput: return outputs_.at(cell.second);
      case Place::kArena: return arena_.at(cell.second);
      case Place::kSlot: return slots_.at(cell.second);
    }
    return nobody_;
  }

  ValueId OwnerAt(Location location) { return Owner(*CellsOf(location, 1).begin()); }

  std::string Read(ValueId value, Location location, std::size_t bytes, std::string_view who) {
    for (const auto& cell : CellsOf(location, bytes)) {
      if (Owner(cell) != value) return fmt::format("{}: value {} is read where value {} is", who, value, Owner(cell));
    }
    return {};
  }

  void Write(ValueId value, Location location, std::size_t bytes) {
    for (const auto& cell : CellsOf(location, bytes)) Owner(cell) = value;
  }

  void Move(const exec::Copy& copy) { Write(OwnerAt(copy.from), copy.to, copy.bytes); }

  std::size_t BytesOf(const Argument& argument) const { return graph_.type(argument.value).bytes(); }

  static bool Overlap(const Cells& a, const Cells& b) {
    return std::any_of(a.begin(), a.end(), [&](const auto& cell) { return b.contains(cell); });
  }

  // Reads the inputs, then writes the outputs, which may not overlap each other, nor an input unless it is read in place.
  std::string Node(const exec::PlannedNode& node, bool in_place) {
    const std::string who = fmt::format("node {} ({})", node.node, node.op.def->name);
    for (const Argument& in : node.in) {
      if (std::string error = Read(in.value, in.location, BytesOf(in), who); !error.empty()) return error;
    }
    Cells written;
    for (const Argument& out : node.out) {
      const Cells cells = CellsOf(out.location, BytesOf(out));
      if (Overlap(cells, written)) return who + ": two outputs overlap";
      for (const Argument& in : node.in) {
        if (!Overlap(cells, CellsOf(in.location, BytesOf(in)))) continue;
        const bool same_place = cells == CellsOf(in.location, BytesOf(in));
        if (!in_place || !in.aligned || !same_place) return who + ": an output overlaps an input";
      }
      written.insert(cells.begin(), cells.end());
      Write(out.value, out.location, BytesOf(out));
    }
    return {};
  }

  std::string General(const exec::PlannedNode& node) { return Node(node, false); }

  std::string Group(const exec::PlannedLaunch& launch) {
    Cells written, whole;
    std::fill(slots_.begin(), slots_.end(), kNobody);
    for (const exec::PlannedNode& node : launch.nodes) {
      if (std::string error = Node(node, options_.in_place); !error.empty()) return error;
      for (const Argument& in : node.in) {
        if (!in.aligned) whole.merge(CellsOf(in.location, BytesOf(in)));
      }
      for (const Argument& out : node.out) written.merge(CellsOf(out.location, BytesOf(out)));
    }
    for (const exec::Flush& flush : launch.flushes) {
      const ValueId value = slots_[flush.slot];
      written.merge(CellsOf(flush.to, graph_.type(value).bytes()));
      Write(value, flush.to, graph_.type(value).bytes());
    }
    // Other blocks may be far ahead, so what is read as a whole must stay as it is throughout.
    if (Overlap(whole, written)) return "a group writes what it reads as a whole";
    return {};
  }

  const Graph& graph_;
  const exec::PlanOptions& options_;
  const exec::Plan& plan_;
  const exec::Schedule schedule_;
  std::vector<ValueId> arena_, inputs_, outputs_, slots_;
  ValueId nobody_ = kNobody;
};

}  // namespace

std::string WalkPlan(const Graph& graph, const exec::PlanOptions& options, const exec::Plan& plan) {
  return Walk(graph, options, plan).Run();
}

}  // namespace assay::testkit
