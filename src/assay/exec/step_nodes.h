// StepNodes: what the node numbers of a whole step mean (docs/formats/program.md): which graph, which op, which outputs, in words.
//
// The program must outlive it. Immutable; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/graph/program.h"

namespace assay {

// What an input of a node is.
struct InputSource {
  enum class Kind : std::uint8_t {
    kState,  // tensor `index` of Program::state, as it was before the step
    kBatch,  // the field behind micro input `index`, of microbatch `microbatch`
    kRng,    // u32[4] of `microbatch`
    kLr,     // f32
    kStep,   // i64
    kNode,   // output `index` of node `node`
  };
  Kind kind{};
  std::size_t index = 0;
  std::size_t node = 0;
  std::int64_t microbatch = 0;
};

class StepNodes {
 public:
  explicit StepNodes(const Program& program);

  std::size_t size() const { return update_base_ + program_.update.nodes().size(); }
  // How many microbatches; the nodes of one; the first node after all microbatches and their tree.
  std::size_t microbatches() const { return static_cast<std::size_t>(program_.microbatches); }
  std::size_t micro_size() const { return program_.micro.nodes().size(); }
  std::size_t update_begin() const { return update_base_; }
  std::vector<TensorType> OutputTypes(std::size_t node) const;
  OpInstance Instance(std::size_t node) const;
  // Where each input of the node comes from.
  std::vector<InputSource> Sources(std::size_t node) const;
  // What the step's loss is, and what a state tensor is after the step.
  InputSource Loss() const;
  InputSource StateAfter(std::size_t tensor) const;
  // "update: adamw of h.3.attn.c_attn.weight", "microbatch 1: matmul with h.0.mlp.c_fc.weight", "sum over microbatches of grad/wte.weight"
  std::string Describe(std::size_t node) const;
  // The update node that writes this state tensor, and which of its outputs it is; none where the step leaves the tensor alone.
  struct Output {
    std::size_t node = 0;
    std::size_t output = 0;
  };
  std::optional<Output> WriterOf(std::string_view state) const;

 private:
  struct Producer {
    std::size_t node = 0;
    std::size_t output = 0;
  };
  // Which node of a graph makes each value that is no input.
  static std::vector<Producer> ProducersOf(const Graph& graph);
  InputSource MicroSource(ValueId value, std::int64_t microbatch) const;
  InputSource UpdateSource(ValueId value) const;
  // What micro output `output` is: of one microbatch, or after the tree.
  InputSource MicroOutput(std::size_t output, std::int64_t microbatch) const;
  InputSource Reduced(std::size_t output) const;
  InputSource TreeOperand(std::size_t output, std::size_t level, std::size_t at) const;
  std::vector<InputSource> TreeSources(std::size_t at) const;

  const Program& program_;
  std::size_t tree_base_;
  std::size_t update_base_;
  std::vector<Producer> micro_producers_, update_producers_;  // by value
};

}  // namespace assay
