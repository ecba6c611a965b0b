// StepNodes: what the node numbers of a whole step mean (docs/formats/program.md): which graph, which op, which outputs, in words.
//
// The program must outlive it. Immutable; thread safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/graph/program.h"

namespace assay {

class StepNodes {
 public:
  explicit StepNodes(const Program& program);

  std::size_t size() const { return update_base_ + program_.update.nodes().size(); }
  std::vector<TensorType> OutputTypes(std::size_t node) const;
  // "update: adamw of h.3.attn.c_attn.weight", "microbatch 1: matmul with h.0.mlp.c_fc.weight", "sum over microbatches of grad/wte.weight"
  std::string Describe(std::size_t node) const;
  // The update node that writes this state tensor, and which of its outputs it is; none where the step leaves the tensor alone.
  struct Output {
    std::size_t node = 0;
    std::size_t output = 0;
  };
  std::optional<Output> WriterOf(std::string_view state) const;

 private:
  const Program& program_;
  std::size_t tree_base_;
  std::size_t update_base_;
};

}  // namespace assay
