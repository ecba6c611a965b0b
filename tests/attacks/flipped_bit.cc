#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/check.h"
#include "assay/merkle/tree.h"
#include "assay/train/trace.h"
#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

constexpr std::size_t kMaxTries = 64;

// The node that makes the largest gradient of the first microbatch, and which of its outputs that is.
struct Target {
  std::size_t node = 0;
  std::size_t output = 0;
  std::size_t elements = 0;
};

Target LargestGradient(const Graph& micro) {
  const NamedValue* largest = nullptr;
  for (const NamedValue& output : micro.outputs()) {
    if (!output.name.starts_with("grad/")) continue;
    if (largest == nullptr || micro.type(output.value).elements() > micro.type(largest->value).elements()) largest = &output;
  }
  ASSAY_CHECK(largest != nullptr);
  for (std::size_t n = 0; n < micro.nodes().size(); ++n) {
    const Node& node = micro.nodes()[n];
    if (largest->value < node.first_output || largest->value >= node.first_output + node.outputs) continue;
    return {n, largest->value - node.first_output, static_cast<std::size_t>(micro.type(largest->value).elements())};
  }
  return {};
}

// One training step in which a node's output is not what the node computed.
class Tampering {
 public:
  Tampering(const Setting& setting, Stepper& stepper, const State& before, const StepPlan& plan)
      : setting_(setting), stepper_(stepper), before_(before), plan_(plan), target_(LargestGradient(program().micro)) {}

  // A bit of the gradient can vanish when microbatches are added or moments updated; this tries the largest elements of the
  // gradient's second half until one changes the state. Leaves the state and the trace of that step.
  Result<StepOutcome> Run(State& state, Trace& trace) {
    StepOutcome outcome = stepper_.Run(state, plan_);
    const Digest honest = RootOf(state);
    for (const std::size_t element : Candidates()) {
      outcome = RunFlipped(element, state, trace);
      if (trace.after == honest) continue;
      setting_.lie.node = static_cast<std::int64_t>(target_.node);
      setting_.lie.leaf = static_cast<std::int64_t>(element * sizeof(float) / kLeafBytes);
      return outcome;
    }
    return Err("step {}: no single bit of the gradient that was tried changes the state", plan_.step + 1);
  }

 private:
  const Program& program() const { return setting_.prepared.program; }
  Digest RootOf(const State& state) const { return StateRootOf(program().state, state, setting_.pool); }

  // Of the values that a gradient can have: what is changed below the job's grid is rounded away.
  std::uint32_t LowestBit() const {
    const Job& job = setting_.prepared.job;
    return job.precision == Precision::kFp64Rounded ? 1u << (32 - job.round_bits) : 1u;
  }

  // Elements of the gradient's second half, the largest first.
  std::vector<std::size_t> Candidates() {
    std::vector<float> gradient;
    State state = CopyOf(before_);
    stepper_.RunTraced(state, plan_, [&](std::size_t node, std::span<const void* const> outputs) {
      if (node != target_.node) return;
      const auto* values = static_cast<const float*>(outputs[target_.output]);
      gradient.assign(values, values + target_.elements);
    });
    std::vector<std::size_t> elements;
    for (std::size_t i = gradient.size() / 2; i < gradient.size(); ++i) elements.push_back(i);
    std::ranges::sort(elements, {}, [&](std::size_t i) { return std::pair(-std::abs(gradient[i]), i); });
    elements.resize(std::min(elements.size(), kMaxTries));
    return elements;
  }

  StepOutcome RunFlipped(std::size_t element, State& state, Trace& trace) {
    state = CopyOf(before_);
    trace = {.trajectory = setting_.prepared.identity.trajectory, .step = setting_.at, .before = RootOf(state)};
    TraceRecorder recorder(program(), stepper_.backend());
    const TraceSink record = recorder.sink();
    StepOutcome outcome = stepper_.RunTraced(state, plan_, [&](std::size_t node, std::span<const void* const> outputs) {
      if (node == target_.node) {
        float& value = const_cast<float*>(static_cast<const float*>(outputs[target_.output]))[element];
        value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ LowestBit());
      }
      record(node, outputs);
    });
    trace.after = RootOf(state);
    trace.nodes = recorder.Take();
    return outcome;
  }

  const Setting& setting_;
  Stepper& stepper_;
  const State& before_;
  const StepPlan& plan_;
  Target target_;
};

}  // namespace

Result<Hooks> FlippedBit(const Setting& setting) {
  const auto trace = std::make_shared<Trace>();
  Hooks hooks;
  hooks.run = [&setting, trace](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
    if (plan.step + 1 != setting.at) return stepper.Run(state, plan);
    const State before = CopyOf(state);
    return Tampering(setting, stepper, before, plan).Run(state, *trace);
  };
  // The trace that an auditor would ask for: of the step as it was really run.
  hooks.finished = [&setting, trace](const RunDirectory& run) -> Status {
    ASSAY_TRY(MakeDirectories(JoinPath(run.path(), "traces")));
    return WriteFileAtomic(run.TracePath(setting.at), SignTrace(*trace, setting.key));
  };
  return hooks;
}

}  // namespace assay::attacks
