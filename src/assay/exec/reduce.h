// GradientTree: adds the outputs of a step's microbatches in the balanced tree of docs/NUMERICS.md, section 2, while keeping at most
// log2(G) + 1 sets of them alive: a pair is added as soon as both halves exist.
//
// The backend must outlive the tree. One step at a time; memory is kept between steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/exec/executor.h"
#include "assay/graph/graph.h"
#include "assay/tensor/tensor.h"

namespace assay::exec {

class GradientTree {
 public:
  // One set has tensors of these types, all f32. `microbatches` >= 2.
  GradientTree(std::vector<TensorType> types, std::int64_t microbatches, Backend& backend, bool fuse);
  ~GradientTree();

  // Where the outputs of the next microbatch are to be written.
  std::vector<void*> Next();
  // The set handed out by Next is complete. With a sink, additions are traced with the numbers of docs/formats/program.md, from 0.
  void Push(const TraceSink* sink);
  // After the last Push: the sum, divided by the number of microbatches. Valid until the next Next.
  std::vector<const void*> Finish(const TraceSink* sink);

  std::size_t nodes() const;  // additions and scalings
  std::size_t sets() const { return sets_.size(); }
  std::size_t memory_bytes() const;  // when all sets are in use

 private:
  struct Set {
    std::vector<Tensor> tensors;
    bool used = false;
  };
  struct Partial {  // the sum of microbatches [first, first + count), a node of the tree at `level`
    std::size_t set = 0;
    int level = 0;
    std::int64_t index = 0;  // among the nodes of its level
  };
  void Combine(const TraceSink* sink);
  std::size_t NodeOffset(int level, std::int64_t pair) const;

  std::vector<TensorType> types_;
  std::int64_t microbatches_;
  Graph add_graph_;
  Graph scale_graph_;
  Executor add_;
  Executor scale_;
  MemorySpace& memory_;
  std::vector<Set> sets_;
  std::vector<Partial> stack_;
  std::size_t current_ = 0;
  std::int64_t pushed_ = 0;
};

}  // namespace assay::exec
