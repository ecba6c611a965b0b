// Executor: runs one Graph on one Backend, with memory planned once. Fusion and in-place updates cannot change a bit, so a fast run
// and a traced run of the same graph give the same outputs.
//
// The graph and the backend must outlive the executor. Run may be called again and again, by one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/graph/graph.h"

namespace assay {

struct ExecOptions {
  bool fuse = true;
  // Pairs (graph output index, graph input index) that the caller will bind to the same memory: an in-place state update. Where the
  // planner cannot compute in place it goes through a temporary; the result is the same.
  std::vector<std::pair<std::size_t, std::size_t>> aliases;
  // The executor keeps the graph's outputs in its own memory, where they may take the place of intermediate values; `outputs` of Run is
  // then empty and output() tells where they are. Excludes aliases.
  bool own_outputs = false;
};

// Called after each node of a traced run with the node's index and pointers to its outputs, in the backend's memory.
using TraceSink = std::function<void(std::size_t node, std::span<const void* const> outputs)>;

class Executor {
 public:
  Executor(const Graph& graph, Backend& backend, ExecOptions options);
  ~Executor();
  Executor(Executor&&) noexcept;

  // One pointer per graph input and output, in graph order, into the backend's memory, 64-byte aligned, dense. Outputs overlap
  // nothing but what the aliases say.
  void Run(std::span<const void* const> inputs, std::span<void* const> outputs);
  // The same, op by op without fusion; `sink` sees every node.
  void RunTraced(std::span<const void* const> inputs, std::span<void* const> outputs, const TraceSink& sink);

  // With own_outputs: graph output k after the last run, until the next run.
  const void* output(std::size_t k) const;

  std::size_t arena_bytes() const;  // memory for intermediate values in a fast run
  std::size_t groups() const;       // kernel launches in a fast run, a fused group counting one

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
