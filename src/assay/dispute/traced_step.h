// What is kept of a step that was run op by op: the record of every node with the leaf hashes behind its roots, or everything that one node read and wrote.
// Made by observing the step (train/stepper.h). Immutable once made.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "assay/dispute/leaf_records.h"
#include "assay/exec/step_nodes.h"
#include "assay/merkle/hash_tree.h"
#include "assay/train/stepper.h"
#include "assay/train/trace.h"

namespace assay::dispute {

// The leaves of a tree whose leaves are records, and the tree.
struct Listing {
  explicit Listing(std::vector<Bytes> records);
  std::vector<Bytes> leaves;
  std::shared_ptr<const HashTree> tree;
  std::size_t bytes() const;
};

struct TracedStep {
  std::vector<std::vector<TraceOutput>> nodes;
  std::shared_ptr<const Listing> records;  // a NodeRecord for each node
  std::size_t bytes() const;
};

// The backend, and the nodes' program, must outlive the observers.
class StepRecorder : public StepObserver {
 public:
  StepRecorder(const Program& program, const StepNodes& nodes, Backend& backend);
  void Begin(const StepPlan& plan, const State& before) override;
  void Batch(std::int64_t microbatch, std::span<const Tensor> fields) override;
  void Node(std::size_t node, std::span<const void* const> outputs) override { sink_(node, outputs); }

  // Once, after the step. An error: no step was run.
  Result<TracedStep> Take();

 private:
  Digest InputRoot(const InputSource& source) const;
  const Program& program_;
  const StepNodes& nodes_;
  Backend& backend_;
  TraceRecorder recorder_;
  TraceSink sink_;
  bool begun_ = false;
  StepPlan plan_;
  std::vector<Digest> state_roots_;
  std::vector<std::vector<Digest>> batch_roots_;   // by microbatch and field
  std::vector<std::vector<Digest>> output_roots_;  // by node
};

// The inputs and outputs of one node, in the host's memory.
struct NodeCapture {
  std::vector<Tensor> inputs, outputs;
  std::size_t bytes() const;
};

class NodeCapturer : public StepObserver {
 public:
  NodeCapturer(const Program& program, const StepNodes& nodes, std::size_t node, Backend& backend);
  void Begin(const StepPlan& plan, const State& before) override;
  void Batch(std::int64_t microbatch, std::span<const Tensor> fields) override;
  void Node(std::size_t node, std::span<const void* const> outputs) override;

  Result<NodeCapture> Take();

 private:
  const Program& program_;
  std::size_t node_;
  Backend& backend_;
  std::vector<InputSource> sources_;
  NodeCapture capture_;
  bool begun_ = false;
};

}  // namespace assay::dispute
