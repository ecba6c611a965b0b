#include "assay/audit/explain.h"

#include <algorithm>
#include <bit>

#include "assay/audit/guesses.h"
#include "assay/audit/state_difference.h"
#include "assay/exec/step_nodes.h"
#include "assay/train/trace.h"

namespace assay {
namespace {

constexpr std::int64_t kNearbySteps = 64;
constexpr std::uint64_t kMaxSeeds = 100;
constexpr std::size_t kMaxSeedStateBytes = std::size_t{64} << 20;

// One entry that a replay contradicts, and what is known about it.
class Explanation {
 public:
  Explanation(const RunDirectory& run, Replay& replay, ThreadPool& pool)
      : run_(run), replay_(replay), pool_(pool), entry_(*replay.EntryHere()) {
    const auto& entries = replay.log().entries();
    const auto here = std::ranges::find(entries, entry_.step, &LogEntry::step);
    previous_ = *std::prev(here);
  }

  Refutation Find(const ReplayedEntry& mine) {
    if (mine.batch_root != entry_.batch_root) return AtStep(BatchWords());
    if (mine.state_root == entry_.state_root) {
      return AtStep(fmt::format("gives loss {}, the log says {}", std::bit_cast<float>(mine.loss_bits),
                                std::bit_cast<float>(entry_.loss_bits)));
    }
    if (entry_.state_root == previous_.state_root) return AtStep("left the whole state as it was: it was skipped");
    const State right = MoveTo(HostMemory(), std::move(replay_.state()));
    if (const Status back = GoBack(); !back) return AtStep(fmt::format("gives another state ({})", back.error().message));
    if (auto found = FromTraces()) return *found;
    if (OneStep()) return FromState(right);
    return AtStep(IntervalWords(right));
  }

 private:
  bool OneStep() const { return entry_.step == previous_.step + 1; }

  Refutation AtStep(const std::string& words) const {
    std::string which = fmt::format("step {}", entry_.step);
    if (!OneStep()) which = fmt::format("one of the steps {} to {}", previous_.step + 1, entry_.step);
    return {.reason = fmt::format("{} {}", which, words), .step = entry_.step};
  }

  void SetNode(Refutation& refutation, std::size_t node, std::size_t leaf) const {
    refutation.node = static_cast<std::int64_t>(node);
    refutation.node_name = StepNodes(replay_.prepared().program).Describe(node);
    refutation.leaf = static_cast<std::int64_t>(leaf);
  }

  std::string BatchWords() {
    if (OneStep()) {
      Stepper& stepper = replay_.stepper();
      const std::int64_t last = std::min(replay_.prepared().job.steps, entry_.step + kNearbySteps);
      for (std::int64_t s = std::max<std::int64_t>(0, entry_.step - kNearbySteps); s < last; ++s) {
        const Digest root = stepper.BatchRootOf(stepper.Plan(s));
        if (BatchRootOfSteps({&root, 1}) == entry_.batch_root) return fmt::format("was run on the batch of step {}", s + 1);
      }
    }
    return "was run on other samples than the job's seed draws from its data (batch root)";
  }

  // To the state after the last entry that is right.
  Status GoBack() {
    ASSAY_TRY(replay_.Load(previous_.step));
    while (replay_.step() < previous_.step) ASSAY_TRY(replay_.Step());
    return {};
  }

  // Walks from the last right entry to the wrong one. A step that the provider has traced is compared node by node.
  std::optional<Refutation> FromTraces() {
    std::vector<std::int64_t> traced;
    for (std::int64_t step = previous_.step + 1; step <= entry_.step; ++step) {
      if (Exists(run_.TracePath(step))) traced.push_back(step);
    }
    if (traced.empty()) return std::nullopt;
    for (const std::int64_t step : traced) {
      while (replay_.step() < step - 1) {
        if (!replay_.Step()) return std::nullopt;
      }
      if (!replay_.FollowRoundings()) return std::nullopt;
      if (auto found = FromTrace(step)) return found;
    }
    static_cast<void>(GoBack());  // it has worked before
    return std::nullopt;
  }

  std::optional<Refutation> FromTrace(std::int64_t step) {
    const std::string path = run_.TracePath(step);
    const auto file = MappedFile::Open(path);
    if (!file) return std::nullopt;
    const auto claimed = OpenTrace(file->bytes(), run_.signer(), replay_.prepared().program, path);
    if (!claimed) return std::nullopt;
    if (claimed->trajectory != replay_.prepared().identity.trajectory || claimed->step != step) return std::nullopt;
    const Trace mine = TraceStep(replay_.stepper(), replay_.state(), step - 1);
    replay_.Skip();
    if (claimed->before != mine.before || claimed->after == mine.after) return std::nullopt;
    if (step == entry_.step && claimed->after != entry_.state_root) {
      return AtStep("gives another state; the provider's own trace of it contradicts its log");
    }
    const auto difference = FirstDifference(*claimed, mine);
    if (!difference) return std::nullopt;
    Refutation refuted{.reason = {}, .step = step};
    SetNode(refuted, difference->node, difference->leaf);
    refuted.reason = fmt::format("step {}: node {} ({}) differs first, in leaf {} of output {}, by the provider's own trace",
                                 step, difference->node, refuted.node_name, difference->leaf, difference->output);
    return refuted;
  }

  std::optional<State> ClaimedState() const {
    const std::string path = run_.SnapshotPath(entry_.step);
    if (!Exists(path)) return std::nullopt;
    auto snapshot = ReadSnapshot(path, replay_.prepared().program.state, pool_);
    if (!snapshot || snapshot->info.state_root != entry_.state_root) return std::nullopt;
    return std::move(snapshot->state);
  }

  static State Copy(const State& state, MemorySpace& to) {
    State copy;
    for (const Tensor& tensor : state) copy.push_back(tensor.CopyTo(to));
    return copy;
  }

  // One step is wrong, and the replay stands before it.
  Refutation FromState(const State& right) {
    const std::optional<State> claimed = ClaimedState();
    const State before = Copy(replay_.state(), HostMemory());
    const std::span<const Tensor> theirs = claimed ? std::span<const Tensor>(*claimed) : std::span<const Tensor>();
    for (const Guess& guess : GuessesFor(replay_.stepper(), previous_.step, before, right, theirs)) {
      if (auto found = Try(guess, before, right)) return *found;
    }
    if (!claimed)
      return AtStep(
          fmt::format("gives another state; `assay trace RUN --step {}` by the provider would show the node", entry_.step));
    const auto differences = CompareStates(*claimed, right, before);
    Refutation refuted = AtStep(InWords(differences, replay_.prepared(), *claimed, right));
    Locate(refuted, differences);
    refuted.first_result = refuted.node.has_value();
    return refuted;
  }

  void Locate(Refutation& refuted, const std::vector<TensorDifference>& differences) const {
    const auto first = FirstWritten(differences, replay_.prepared().program);
    if (first) SetNode(refuted, first->writer.node, static_cast<std::size_t>(first->difference.leaf));
  }

  std::optional<Refutation> Try(const Guess& guess, const State& before, const State& right) {
    State state = Copy(before, replay_.stepper().backend().memory());
    replay_.stepper().Run(state, guess.plan);
    state = MoveTo(HostMemory(), std::move(state));
    if (guess.edit) guess.edit(state);
    if (StateRootOf(replay_.prepared().program.state, state, pool_) != entry_.state_root) return std::nullopt;
    Refutation refuted = AtStep(guess.words);
    if (guess.edit) {
      Locate(refuted, CompareStates(state, right, before));
      return refuted;
    }
    const auto difference =
        FirstDifference(TraceOf(guess.plan, before), TraceOf(replay_.stepper().Plan(previous_.step), before));
    if (!difference) return refuted;
    SetNode(refuted, difference->node, difference->leaf);
    refuted.reason = fmt::format("step {}: {} {}", entry_.step, refuted.node_name, guess.words);
    return refuted;
  }

  Trace TraceOf(const StepPlan& plan, const State& before) {
    State state = Copy(before, replay_.stepper().backend().memory());
    TraceRecorder recorder(replay_.prepared().program, replay_.stepper().backend());
    replay_.stepper().RunTraced(state, plan, recorder.sink());
    Trace trace;
    trace.nodes = recorder.Take();
    return trace;
  }

  std::string IntervalWords(const State& right) const {
    const std::optional<State> claimed = ClaimedState();
    if (!claimed) return "gives another state";
    return InWords(CompareStates(*claimed, right, {}), replay_.prepared(), *claimed, right);
  }

  const RunDirectory& run_;
  Replay& replay_;
  ThreadPool& pool_;
  LogEntry entry_;
  LogEntry previous_;
};

}  // namespace

Refutation Explain(const RunDirectory& run, Replay& replay, const ReplayedEntry& mine, ThreadPool& pool) {
  return Explanation(run, replay, pool).Find(mine);
}

Refutation ExplainStart(const PreparedJob& prepared, const LogEntry& claimed, ThreadPool& pool) {
  Refutation refuted{.reason = "the starting state is not the one that the job gives", .step = 0};
  std::size_t bytes = 0;
  for (const StateSpec& spec : prepared.program.state) bytes += spec.type.bytes();
  if (bytes > kMaxSeedStateBytes || !prepared.job.init_weights.empty()) return refuted;
  const std::uint64_t job_seed = prepared.job.seed;
  for (std::uint64_t i = 0; i < kMaxSeeds; ++i) {
    for (const std::uint64_t seed : {i, job_seed + i, job_seed - i}) {
      if (StateRootOf(prepared.program.state, InitialState(prepared.program, seed, &pool), pool) == claimed.state_root) {
        refuted.reason = fmt::format("the starting state is that of seed {}, the job says {}", seed, job_seed);
        return refuted;
      }
    }
  }
  return refuted;
}

}  // namespace assay
