// LogEntry: what one committed step says about a run (docs/formats/log.md). Value type; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/merkle/sha256.h"

namespace assay {

struct LogEntry {
  std::int64_t step = 0;        // steps completed
  Digest state_root{};          // after them
  Digest batch_root{};          // over the batches of the steps since the previous entry
  std::uint32_t loss_bits = 0;  // of the last step
  // Over the rounding logs of the steps since the previous entry; runs of fp64-rounded jobs have it (docs/ROUNDING.md).
  std::optional<Digest> rounding_root{};
  Digest previous{};  // hash of the previous entry; of the first, the trajectory id

  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

Bytes Encode(const LogEntry& entry);
// Accepts exactly what Encode writes.
Result<LogEntry> DecodeLogEntry(ByteSpan bytes, std::string_view what);
// The leaf of the log's tree; also what the next entry names as its previous.
Digest HashOf(const LogEntry& entry);

// The batch root of an entry: the tree over its steps' own batch roots.
Digest BatchRootOfSteps(std::span<const Digest> batch_roots);

// What an entry commits to of the rounding log of one step. The root is that of a tensor of the same bytes, so that single blocks of a log can be shown.
struct RoundingLeaf {
  std::uint64_t bytes = 0;  // of the log
  Digest root{};            // over its blocks of 4 KiB

  friend bool operator==(const RoundingLeaf&, const RoundingLeaf&) = default;
};
RoundingLeaf RoundingLeafOf(ByteSpan log);
Bytes Encode(const RoundingLeaf& leaf);
Result<RoundingLeaf> DecodeRoundingLeaf(ByteSpan bytes);
// The rounding root of an entry: the tree over its steps' leaves.
Digest RoundingRootOfSteps(std::span<const RoundingLeaf> logs);

}  // namespace assay
