// The leaves of the two trees that only a dispute has: what a run was after each step of an interval, and what each node of a step read and wrote
// (docs/formats/dispute.md). Value types; pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/exec/step_nodes.h"
#include "assay/merkle/sha256.h"

namespace assay::dispute {

struct StepRecord {
  std::int64_t step = 0;
  Digest state_root{};          // after it
  std::uint32_t loss_bits = 0;  // of it
  friend bool operator==(const StepRecord&, const StepRecord&) = default;
};
Bytes Encode(const StepRecord& record);
Result<StepRecord> DecodeStepRecord(ByteSpan bytes);

struct NodeRecord {
  std::uint32_t node = 0;
  std::uint16_t op = 0;  // wire id
  std::uint16_t version = 0;
  Bytes attrs{};
  std::vector<Digest> inputs{};  // tensor roots
  struct Output {
    std::uint64_t bytes = 0;
    Digest root{};
    friend bool operator==(const Output&, const Output&) = default;
  };
  std::vector<Output> outputs{};
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};
Bytes Encode(const NodeRecord& record);
Result<NodeRecord> DecodeNodeRecord(ByteSpan bytes);

// The record of a node with everything that the program fixes; inputs' and outputs' roots are zero.
NodeRecord BlankRecord(const StepNodes& nodes, std::size_t node);

}  // namespace assay::dispute
