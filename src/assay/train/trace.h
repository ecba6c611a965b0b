// Trace: the leaf hashes of every node's outputs in one step, signed by who ran it (docs/formats/trace.md).
//
// Two honest traces of a step are equal, so the first node at which two differ is where one of them went wrong.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/run/fsck.h"
#include "assay/sign/key.h"
#include "assay/train/stepper.h"

namespace assay {

struct TraceOutput {
  std::uint64_t bytes = 0;
  std::vector<Digest> leaves;  // of 4 KiB each
  friend bool operator==(const TraceOutput&, const TraceOutput&) = default;
};

struct Trace {
  Digest trajectory{};
  std::int64_t step = 0;  // leads from the state after step - 1 steps to that after step
  Digest before{};
  Digest after{};
  std::vector<std::vector<TraceOutput>> nodes{};
  friend bool operator==(const Trace&, const Trace&) = default;
};

Bytes SignTrace(const Trace& trace, const SigningKey& key);
// Checks size and signature before anything is read, and that it is of the nodes and outputs of this program.
Result<Trace> OpenTrace(ByteSpan file, const VerifyKey& key, const Program& program, std::string_view what);

// The same, down to what Fsck compares with the rest of a run.
Result<TraceSummary> SummarizeTrace(ByteSpan file, const VerifyKey& key, const Program& program, std::string_view what);

// Collects a trace while a traced step runs: its sink is to be handed to Stepper::RunTraced.
// On a device, whose queue of hashes they would share, one at a time; on a host any number may watch a step.
class TraceRecorder {
 public:
  // For a step on this backend.
  TraceRecorder(const Program& program, Backend& backend);
  TraceSink sink();
  std::vector<std::vector<TraceOutput>> Take();  // when the step has run

 private:
  void Record(std::size_t node, std::span<const void* const> outputs);
  std::vector<std::vector<TensorType>> types_;
  Backend& backend_;
  std::vector<std::vector<TraceOutput>> at_once_;  // of a host's backend
  std::vector<std::size_t> recorded_;              // nodes, in the order in which they ran
};

// Runs the step after `step` steps, changing the state, and returns its trace.
Trace TraceStep(Stepper& stepper, State& state, std::int64_t step);

// Where two lists of nodes first differ.
struct TraceDifference {
  std::size_t node = 0;
  std::size_t output = 0;
  std::size_t leaf = 0;
};
std::optional<TraceDifference> FirstDifference(const Trace& a, const Trace& b);

}  // namespace assay
