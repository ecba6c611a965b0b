// What a dispute about one element costs the referee, computed from the job's shapes alone: the sizes of trees, proofs and records follow from it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/dispute/terms.h"

namespace assay::dispute {

struct Bill {
  std::size_t rounds = 0;
  std::size_t bytes = 0;           // of the answers' bodies
  std::size_t decision_bytes = 0;  // since the first record of a node was asked for
};

// Of element `element` of output `output` of node `node` in step `step`, against a liar who lies about one part at every level (one_step.h). Indices that only the inputs know are taken as 0.
Bill EstimateBill(const Terms& terms, std::int64_t step, std::size_t node, std::size_t output, std::int64_t element);

// Of sample `row` in field `field` of the batch of the step.
Bill EstimateBatchBill(const Terms& terms, std::int64_t step, std::size_t field, std::uint64_t row);

}  // namespace assay::dispute
