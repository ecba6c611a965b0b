#include "assay/exec/plan.h"

#include <algorithm>
#include <optional>

#include "assay/base/check.h"
#include "assay/exec/pack.h"

namespace assay::exec {
namespace {

struct Moment {
  int launch = -1;
  int position = 0;  // inside the launch
};

struct Use {
  Moment when;
  bool aligned = false;
};

// What is known about one root value.
struct ValueInfo {
  bool is_input = false;
  std::size_t input = 0;
  bool launched = false;  // produced by a launched node, hence needs a place
  Moment defined;
  std::vector<Use> uses;
  bool used_at_end = false;
  bool internal = false;  // lives in a slot
  bool flushed = false;   // computed in a slot, then copied to its class's place
  std::size_t slot = 0;
  std::size_t storage = SIZE_MAX;  // index into storages
};

// Memory shared by a chain of values, each of which takes the place of the one before it.
struct Storage {
  std::size_t bytes = 0;
  int begin = 0;
  int end = 0;
  std::optional<std::size_t> bound;  // to this graph output
  bool aliased = false;              // the bound output shares memory with a graph input
  std::size_t offset = 0;
  std::size_t merged = SIZE_MAX;  // into this storage
};

constexpr std::size_t kSlotElementBytes = 4;  // slots hold elements of this size

class Planner {
 public:
  Planner(const Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), schedule_(MakeSchedule(graph, options.schedule)), info_(graph.values()) {
    end_ = static_cast<int>(schedule_.launches.size());
  }

  Plan Make() && {
    CollectUses();
    MarkInternal();
    for (ValueId v = 0; v < info_.size(); ++v) {
      if (!info_[v].launched || info_[v].internal) continue;
      info_[v].storage = storages_.size();
      Storage storage;
      storage.bytes = graph_.type(v).bytes();
      storage.begin = info_[v].defined.launch;
      storage.end = LastUse(info_[v]);
      storages_.push_back(storage);
    }
    BindOutputs();
    if (options_.in_place) {
      for (int launch = 0; launch < end_; ++launch) ReuseOperands(launch);
    }
    PackArena();
    Emit();
    return std::move(plan_);
  }

 private:
  ValueId Root(ValueId v) const { return schedule_.root[v]; }
  const Launch& LaunchAt(int launch) const { return schedule_.launches[static_cast<std::size_t>(launch)]; }

  int LastUse(const ValueInfo& info) const {
    if (info.used_at_end) return end_;
    int last = info.defined.launch;
    for (const Use& use : info.uses) last = std::max(last, use.when.launch);
    return last;
  }

  void CollectUses() {
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      info_[graph_.inputs()[i].value].is_input = true;
      info_[graph_.inputs()[i].value].input = i;
    }
    for (int launch = 0; launch < end_; ++launch) {
      int position = 0;
      for (const NodeIndex n : LaunchAt(launch).nodes) {
        const Node& node = graph_.nodes()[n];
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
          info_[Root(node.inputs[k])].uses.push_back({{launch, position}, ReadsAligned(graph_.def(node), k)});
        }
        for (std::uint32_t k = 0; k < node.outputs; ++k) {
          info_[node.first_output + k].launched = true;
          info_[node.first_output + k].defined = {launch, position};
        }
        ++position;
      }
    }
    for (const NamedValue& output : graph_.outputs()) info_[Root(output.value)].used_at_end = true;
  }

  void MarkInternal() {
    if (options_.keep_all_outputs) return;
    for (ValueInfo& info : info_) {
      if (!info.launched || info.used_at_end || !LaunchAt(info.defined.launch).elementwise) continue;
      info.internal = LastUse(info) == info.defined.launch;
    }
  }

  std::optional<std::size_t> AliasOf(std::size_t output) const {
    for (const auto& [out, in] : options_.aliases) {
      if (out == output) return in;
    }
    return std::nullopt;
  }

  // Whether `value` may be computed in the memory of graph input `input`: nobody reads the input later, and who reads it in the same
  // launch reads the block that is about to be replaced. Sets `flush` when those reads are not all over when the value is written.
  bool CanReplace(const ValueInfo& value, std::size_t input, bool& flush) const {
    const ValueInfo& old = info_[graph_.inputs()[input].value];
    if (old.used_at_end) return false;
    flush = false;
    for (const Use& use : old.uses) {
      if (use.when.launch > value.defined.launch) return false;
      if (use.when.launch < value.defined.launch) continue;
      if (!use.aligned) return false;
      if (use.when.position > value.defined.position) flush = true;
      if (use.when.position == value.defined.position && !options_.in_place) flush = true;
    }
    return true;
  }

  void BindOutputs() {
    for (std::size_t k = 0; k < graph_.outputs().size(); ++k) {
      const ValueId root = Root(graph_.outputs()[k].value);
      ValueInfo& info = info_[root];
      if (options_.outputs_in_arena || info.is_input || storages_[info.storage].bound) continue;
      const auto input = AliasOf(k);
      bool flush = false;
      if (input && !CanReplace(info, *input, flush)) continue;
      storages_[info.storage].bound = k;
      storages_[info.storage].aliased = input.has_value();
      info.flushed = flush;
    }
  }

  std::size_t StorageOf(ValueId root) const {
    std::size_t s = info_[root].storage;
    while (s != SIZE_MAX && storages_[s].merged != SIZE_MAX) s = storages_[s].merged;
    return s;
  }

  // The position of the last read of `root` in `launch`, if all of its reads there are element by element.
  std::optional<int> LastAlignedRead(ValueId root, int launch) const {
    int last = -1;
    for (const Use& use : info_[root].uses) {
      if (use.when.launch != launch) continue;
      if (!use.aligned) return std::nullopt;
      last = std::max(last, use.when.position);
    }
    return last < 0 ? std::nullopt : std::optional(last);
  }

  // Lets results of an elementwise launch take the place of operands that are not needed after it. The longest-lived operand goes first,
  // which matters when the result is bound to the caller's memory: all of that chain then leaves the arena.
  void ReuseOperands(int launch) {
    if (!LaunchAt(launch).elementwise) return;
    std::vector<ValueId> donors;
    for (const NodeIndex n : LaunchAt(launch).nodes) {
      for (const ValueId v : graph_.nodes()[n].inputs) {
        const ValueId root = Root(v);
        const std::size_t s = StorageOf(root);
        if (s == SIZE_MAX || info_[root].defined.launch == launch || storages_[s].end != launch || storages_[s].bound) continue;
        if (std::find(donors.begin(), donors.end(), root) == donors.end() && LastAlignedRead(root, launch))
          donors.push_back(root);
      }
    }
    std::sort(donors.begin(), donors.end(), [&](ValueId a, ValueId b) {
      const int begin_a = storages_[StorageOf(a)].begin;
      const int begin_b = storages_[StorageOf(b)].begin;
      return begin_a != begin_b ? begin_a < begin_b : a < b;
    });
    int position = 0;
    for (const NodeIndex n : LaunchAt(launch).nodes) {
      const Node& node = graph_.nodes()[n];
      for (std::uint32_t k = 0; k < node.outputs; ++k)
        TakePlace(node.first_output + k, launch, position, node.outputs > 1, donors);
      ++position;
    }
  }

  void TakePlace(ValueId value, int launch, int position, bool many_outputs, std::vector<ValueId>& donors) {
    const std::size_t mine = info_[value].storage;
    if (mine == SIZE_MAX || storages_[mine].aliased) return;
    for (auto it = donors.begin(); it != donors.end(); ++it) {
      const std::size_t theirs = StorageOf(*it);
      const int last_read = *LastAlignedRead(*it, launch);
      if (last_read > position || storages_[theirs].bytes != storages_[mine].bytes) continue;
      // With several results, one may not be written over the operand of another.
      if (many_outputs && last_read == position) continue;
      storages_[theirs].end = storages_[mine].end;
      storages_[theirs].bound = storages_[mine].bound;
      storages_[mine].merged = theirs;
      donors.erase(it);
      return;
    }
  }

  void PackArena() {
    std::vector<Buffer> buffers;
    std::vector<std::size_t> owners;
    for (std::size_t s = 0; s < storages_.size(); ++s) {
      if (storages_[s].merged != SIZE_MAX || storages_[s].bound) continue;
      buffers.push_back({storages_[s].bytes, storages_[s].begin, storages_[s].end, 0});
      owners.push_back(s);
    }
    // Inputs that the epilogue reads although their memory is overwritten by then.
    std::vector<std::size_t> snapshots;
    if (!options_.outputs_in_arena) {
      for (std::size_t k = 0; k < graph_.outputs().size(); ++k) {
        const ValueInfo& info = info_[Root(graph_.outputs()[k].value)];
        if (!info.is_input || !IsOverwritten(info.input) || AliasOf(k) == info.input) continue;
        if (std::find(snapshots.begin(), snapshots.end(), info.input) != snapshots.end()) continue;
        snapshots.push_back(info.input);
        buffers.push_back({graph_.type(graph_.inputs()[info.input].value).bytes(), 0, end_, 0});
      }
    }
    plan_.arena_bytes = Pack(buffers);
    plan_.arena_lower_bound = PackLowerBound(buffers);
    for (std::size_t b = 0; b < owners.size(); ++b) storages_[owners[b]].offset = buffers[b].offset;
    for (std::size_t i = 0; i < snapshots.size(); ++i) {
      const std::size_t offset = buffers[owners.size() + i].offset;
      const std::size_t bytes = buffers[owners.size() + i].bytes;
      plan_.prologue.push_back({{Place::kInput, snapshots[i]}, {Place::kArena, offset}, bytes});
    }
  }

  bool IsOverwritten(std::size_t input) const {
    return std::any_of(options_.aliases.begin(), options_.aliases.end(),
                       [&](const auto& pair) { return pair.second == input; });
  }

  Location Where(ValueId root) const {
    const ValueInfo& info = info_[root];
    if (info.is_input) return {Place::kInput, info.input};
    if (info.internal) return {Place::kSlot, info.slot};
    const Storage& storage = storages_[StorageOf(root)];
    if (storage.bound) return {Place::kOutput, *storage.bound};
    return {Place::kArena, storage.offset};
  }

  // Gives slots to what stays inside a group, each free again after its last read; returns how many there are.
  std::size_t AssignSlots(int launch) {
    std::vector<int> busy_until;  // by slot: position of the last read
    int position = 0;
    for (const NodeIndex n : LaunchAt(launch).nodes) {
      const Node& node = graph_.nodes()[n];
      const bool over_operand = options_.in_place && node.outputs == 1;
      for (std::uint32_t k = 0; k < node.outputs; ++k) {
        ValueInfo& info = info_[node.first_output + k];
        if (!info.internal && !info.flushed) continue;
        ASSAY_CHECK(SizeOf(graph_.type(node.first_output + k).dtype) <= kSlotElementBytes);
        int last = info.flushed ? static_cast<int>(LaunchAt(launch).nodes.size()) : position;
        for (const Use& use : info.uses) {
          if (use.when.launch == launch) last = std::max(last, use.when.position);
        }
        std::size_t slot = 0;
        while (slot < busy_until.size() && busy_until[slot] >= position + (over_operand ? 1 : 0)) ++slot;
        if (slot == busy_until.size()) busy_until.push_back(last);
        busy_until[slot] = last;
        info.slot = slot;
      }
      ++position;
    }
    return busy_until.size();
  }

  Argument MakeArgument(ValueId value, bool aligned, int launch) const {
    const ValueId root = Root(value);
    const ValueInfo& info = info_[root];
    Argument argument{root, Where(root), aligned, static_cast<std::uint32_t>(SizeOf(graph_.type(value).dtype))};
    if (info.flushed && info.defined.launch == launch) argument.location = {Place::kSlot, info.slot};
    return argument;
  }

  void Emit() {
    for (int launch = 0; launch < end_; ++launch) {
      const Launch& from = LaunchAt(launch);
      PlannedLaunch to;
      if (from.elementwise) to.slots = AssignSlots(launch);
      to.elementwise = from.elementwise;
      to.elements = from.elements;
      for (const NodeIndex n : from.nodes) {
        const Node& node = graph_.nodes()[n];
        PlannedNode planned{n, graph_.Instance(node), {}, {}};
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
          planned.in.push_back(MakeArgument(node.inputs[k], ReadsAligned(graph_.def(node), k), launch));
        }
        for (std::uint32_t k = 0; k < node.outputs; ++k) {
          const ValueId v = node.first_output + k;
          planned.out.push_back(MakeArgument(v, from.elementwise, launch));
          if (info_[v].flushed) to.flushes.push_back({info_[v].slot, Where(v), planned.out.back().element_bytes});
        }
        to.nodes.push_back(std::move(planned));
      }
      plan_.launches.push_back(std::move(to));
    }
    EmitOutputs();
  }

  void EmitOutputs() {
    for (std::size_t k = 0; k < graph_.outputs().size(); ++k) {
      const ValueId root = Root(graph_.outputs()[k].value);
      Location from = Where(root);
      plan_.outputs.push_back(options_.outputs_in_arena ? from : Location{Place::kOutput, k});
      if (options_.outputs_in_arena || (from.place == Place::kOutput && from.at == k)) continue;
      if (info_[root].is_input) {
        if (AliasOf(k) == info_[root].input) continue;
        for (const Copy& copy : plan_.prologue) {
          if (copy.from.at == info_[root].input) from = copy.to;
        }
      }
      plan_.epilogue.push_back({from, {Place::kOutput, k}, graph_.type(root).bytes()});
    }
  }

  const Graph& graph_;
  const PlanOptions& options_;
  const Schedule schedule_;
  std::vector<ValueInfo> info_;  // by value; only roots are filled in
  std::vector<Storage> storages_;
  Plan plan_;
  int end_ = 0;
};

}  // namespace

Plan MakePlan(const Graph& graph, const PlanOptions& options) { return Planner(graph, options).Make(); }

}  // namespace assay::exec
