// Retelling: the trial that decided, gone through again round by round, for people who want to see it: how the interval narrowed, the node that it ended at, and
// the two blocks of numbers about which the sides differ. It decides nothing: whoever is guilty was found by Judge, from the same evidence. Pure; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/dispute/evidence.h"
#include "assay/exec/step_nodes.h"

namespace assay::dispute {

// What was asked at a time. `about` is what the leaves of the tree are that the questions were about: "steps", "nodes", "tensors", "blocks", "samples", "value".
// Of steps, `begin` is the last one that both agree on and `end` the last one of the interval; otherwise they are leaves [begin, end) of `of`.
struct RetoldRound {
  Progress progress{};
  std::string about{};
  std::uint64_t begin = 0, end = 0, of = 0;
  std::vector<std::string> asked{};
};

// The node that the finding is about, with what goes into it and what comes out.
struct RetoldNode {
  struct Value {
    std::string what{};                 // "the state's h.0.ln_1.weight"; of outputs empty
    std::optional<std::size_t> node{};  // that made it
    std::string node_name{};
    TensorType type{};
  };
  std::size_t number = 0;
  std::string op{}, name{};
  std::vector<Value> inputs{}, outputs{};
};

// The last leaf of a tensor that both sides opened and that differs.
struct RetoldBlock {
  std::string what{};       // "leaves 3..4 of output 0 of node 17 of step 42"
  TensorType type{};        // of the whole tensor
  std::uint64_t first = 0;  // element that the block begins with
  Bytes said[2]{};
};

struct Retelling {
  std::int64_t steps = 0;     // of the job
  std::size_t nodes = 0;      // of a step
  std::size_t sides[2] = {};  // parties of the evidence
  std::vector<RetoldRound> rounds{};
  bool shortened = false;  // there were more rounds than are told
  std::optional<RetoldNode> node{};
  std::optional<RetoldBlock> block{};
};

// Nothing where no charge is about two claims that were examined. The evidence is one that Judge takes.
std::optional<Retelling> Retell(const Evidence& evidence);

// The same as JSON, beside what the judge found (docs/formats/retelling.md).
std::string RetellingJson(const Evidence& evidence, const Judgement& judgement);

}  // namespace assay::dispute
