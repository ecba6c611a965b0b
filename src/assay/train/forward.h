// ForwardPass: a model's graph without training, bound to a state, with its own batch and output tensors.
//
// The backend and the state must outlive it; the state is read at every Run (once, at the start, where it has to be copied to a device). One thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "assay/exec/executor.h"
#include "assay/exec/step.h"
#include "assay/graph/program.h"

namespace assay {

class ForwardPass {
 public:
  // `graph` as BuildEval or BuildLogits makes it; `state` is parallel to `specs` (in name order) and holds at least what it reads.
  ForwardPass(Graph graph, std::span<const StateSpec> specs, std::span<const Tensor> state, Backend& backend);

  std::span<const BatchField> batch_fields() const { return fields_; }
  std::span<Tensor> batch() { return batch_; }  // parallel to batch_fields(); to be filled before Run
  const Tensor& Field(std::string_view name) const;
  const Tensor& Output(std::string_view name) const;
  void Run();

 private:
  Graph graph_;
  Executor executor_;
  Backend& backend_;
  Tensor rng_;  // nothing is random without training, but the graphs may declare the input
  std::vector<BatchField> fields_;
  std::vector<Tensor> batch_;
  std::vector<Tensor> outputs_;
  // What the kernels of a device see instead: empty where the host computes.
  std::vector<Tensor> device_state_, device_batch_, device_outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<std::size_t> batch_inputs_;  // the graph input of each batch tensor
};

}  // namespace assay
