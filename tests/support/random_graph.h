// Random graphs for differential tests: a pure function of the seed, on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/graph/graph.h"
#include "assay/tensor/tensor.h"

namespace assay::testkit {

struct RandomGraph {
  Graph graph;
  std::vector<Tensor> inputs;
  std::vector<std::pair<std::size_t, std::size_t>> aliases;  // outputs that may take the place of an input of the same type
};

// A graph of about `nodes` forward nodes over a few shapes, some larger than a block; with `gradients`, also the gradients of a scalar.
RandomGraph MakeRandomGraph(std::uint64_t seed, int nodes, bool gradients);

// A small deterministic generator for choices in tests.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : seed_(seed) {}
  std::uint32_t Below(std::uint32_t n);
  bool OneIn(std::uint32_t n) { return Below(n) == 0; }
  float Normal();

 private:
  std::uint64_t seed_;
  std::uint32_t next_ = 0;
};

}  // namespace assay::testkit
