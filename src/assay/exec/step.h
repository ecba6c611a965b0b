// StepRunner: runs whole training steps of a Program: microbatches, their reduction tree, and the update of the state in place.
//
// The program and the backend must outlive the runner. One step at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/exec/executor.h"
#include "assay/graph/program.h"
#include "assay/tensor/tensor.h"

namespace assay {

// The state of a run, parallel to Program::state.
using State = std::vector<Tensor>;
// The same state in another memory; taken over where it is there already.
State MoveTo(MemorySpace& space, State state);

// A state that the host can read: the given one, which must outlive it, or a copy where that is on a device.
class HostState {
 public:
  explicit HostState(const State& state);
  const State& get() const { return *state_; }

 private:
  State copy_;
  const State* state_;
};

// The initial state: a pure function of program and seed (docs/NUMERICS.md, section 4). A pool makes it faster, never different.
State InitialState(const Program& program, std::uint64_t seed, ThreadPool* pool = nullptr);
// Elements `range` of one tensor of it; range.begin is a multiple of four.
Bytes InitialBytes(const Program& program, std::uint64_t seed, std::size_t tensor, Range range);

struct StepInput {
  std::uint64_t seed = 0;
  std::uint32_t step = 0;  // 0 for the first step; the program's "step" input is this plus one
  float lr = 0;
  // Fills the batch fields of one microbatch; tensors are parallel to StepRunner::batch_fields().
  std::function<void(std::int64_t microbatch, std::span<Tensor> fields)> load;
};

struct StepMetric {
  std::string name;
  float value = 0;
};

struct StepResult {
  float loss = 0;  // mean over the microbatches, as reduced by the tree
  std::vector<StepMetric> metrics;
};

struct BatchField {
  std::string name;  // without "batch/"
  TensorType type;
};

class StepRunner {
 public:
  StepRunner(const Program& program, Backend& backend, bool fuse = true);
  ~StepRunner();

  std::span<const BatchField> batch_fields() const;
  // `state` is in the backend's memory.
  StepResult Run(State& state, const StepInput& input);
  // Node numbers as in graph/program.h. Additions of the tree run, and are reported, as soon as both operands exist, so that the
  // numbers do not only ascend.
  StepResult RunTraced(State& state, const StepInput& input, const TraceSink& sink);
  std::size_t nodes() const;         // of a whole step, as numbered for a trace
  std::size_t memory_bytes() const;  // beside the state

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
