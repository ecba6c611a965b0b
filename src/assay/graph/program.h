// Program: the canonical description of ONE training step, everything that happens between two states.
//
// A step runs `micro` once for each microbatch, reduces its outputs over the microbatches in a balanced tree (docs/NUMERICS.md), and
// runs `update` once. Names connect the parts:
//
//   micro   inputs   "state/NAME" (read only), "batch/FIELD", "rng" u32[4] {seed low, seed high, step, microbatch}
//           outputs  "NAME": all f32; the first is "loss" (a scalar); the others are gradients "grad/NAME" and statistics "stat/NAME"
//   update  inputs   "state/NAME", "reduced/NAME" (each micro output, summed over the tree and divided by the number of microbatches),
//                    "lr" f32 scalar, "step" i64 scalar (1 for the first step)
//           outputs  "state/NAME" for every state tensor that changes, "metric/NAME" f32 scalars
//
// Nodes of a step are numbered: micro nodes of microbatch 0, of microbatch 1, ..., the tree's additions, the scaling, update nodes.
// Value type; immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/graph/graph.h"

namespace assay {

enum class InitKind : std::uint8_t { kConstant = 0, kNormal = 1, kUniform = 2 };

// How a state tensor starts. kConstant: every element is `value`; kNormal: standard deviation `value`, mean 0; kUniform: in [-value, value).
struct Init {
  InitKind kind = InitKind::kConstant;
  float value = 0;
  friend bool operator==(const Init&, const Init&) = default;
};

struct StateSpec {
  std::string name;
  TensorType type;
  Init init;
};

struct Program {
  std::vector<StateSpec> state;  // in ascending name order, names unique
  std::int64_t microbatches = 1;
  Graph micro;
  Graph update;
};

// docs/formats/program.md. Decode accepts only what Encode writes and only programs whose names and types connect.
Bytes Encode(const Program& program);
Result<Program> DecodeProgram(const OpTable& table, ByteSpan bytes);
// Checks the naming rules above.
Status Verify(const Program& program);

}  // namespace assay
