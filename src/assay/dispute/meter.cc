#include "assay/dispute/meter.h"

#include <algorithm>

namespace assay::dispute {
namespace {

// True when it is another than the last, which it takes the place of.
template <class T>
bool Replaces(std::optional<T>& kept, const T& wanted) {
  if (kept == wanted) return false;
  kept = wanted;
  return true;
}

}  // namespace

void Meter::GoTo(std::int64_t step) {
  std::int64_t from = step / every_ * every_;  // a snapshot, or the start
  if (snapshots_) {
    const auto after = std::ranges::upper_bound(*snapshots_, step);
    from = after == snapshots_->begin() ? 0 : *std::prev(after);
  }
  for (const auto& held : {at_, before_}) {
    if (held && *held <= step) from = std::max(from, *held);
  }
  work_.steps_run += step - from;
  at_ = step;
}

void Meter::State(std::int64_t step) {
  if (at_ != step && before_ != step) GoTo(step);
}

void Meter::Observe(std::int64_t step) {
  GoTo(step - 1);
  before_ = step - 1;
  ++work_.steps_traced;
  at_ = step;
}

void Meter::States(std::int64_t entry) {
  if (!Replaces(states_, entry)) return;
  const std::int64_t from = (entry - 1) * every_, to = std::min(steps_, entry * every_);
  GoTo(from);
  work_.steps_run += to - from;
  at_ = to;
}

void Meter::Trace(std::int64_t step) {
  if (Replaces(trace_, step)) Observe(step);
}

void Meter::Capture(std::int64_t step, std::uint32_t node) {
  if (Replaces(capture_, std::pair(step, node))) Observe(step);
}

void Meter::Batches(std::int64_t entry) {
  if (Replaces(batches_, entry)) work_.batches_loaded += std::min(steps_, entry * every_) - (entry - 1) * every_;
}

void Meter::Batch(std::int64_t step) {
  if (Replaces(batch_, step)) ++work_.batches_loaded;
}

void Meter::Tree(const TreeName& tree, bool content) {
  switch (tree.kind) {
    case TreeKind::kStates: return HasEntry(tree.at) ? States(tree.at) : void();
    case TreeKind::kBatches: return HasEntry(tree.at) ? Batches(tree.at) : void();
    case TreeKind::kTrace: return HasStep(tree.at) ? Trace(tree.at) : void();
    case TreeKind::kState:
    case TreeKind::kStateTensor: {
      if (tree.at != 0 && !HasStep(tree.at)) return;
      if (tree.kind == TreeKind::kStateTensor || Replaces(state_, tree.at)) State(tree.at);
      return;
    }
    case TreeKind::kBatch:
    case TreeKind::kBatchField: return HasStep(tree.at) ? Batch(tree.at) : void();
    // The hashes of what nodes gave are part of the trace.
    case TreeKind::kInput:
    case TreeKind::kOutput: {
      if (!HasStep(tree.at)) return;
      return content || tree.kind == TreeKind::kInput ? Capture(tree.at, tree.node) : Trace(tree.at);
    }
    default: return;
  }
}

void Meter::Answer(const Question& question) {
  if (const auto* commit = std::get_if<CommitQuestion>(&question)) Tree(commit->tree, false);
  if (const auto* expand = std::get_if<ExpandQuestion>(&question)) Tree(expand->tree, false);
  if (const auto* leaves = std::get_if<LeavesQuestion>(&question)) Tree(leaves->tree, true);
  const auto* parts = std::get_if<PartsQuestion>(&question);
  if (parts != nullptr && HasStep(parts->step)) Capture(parts->step, parts->node);
}

}  // namespace assay::dispute
