// Where the weights that a run starts from come from: a chain of receipts, each for a model from which the next one was trained. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/job/job.h"
#include "assay/own/claim.h"
#include "assay/run/receipt.h"

namespace assay::own {

struct Ancestor {
  Receipt receipt;
  DecodedJob job;
};

struct Lineage {
  std::vector<Ancestor> ancestors{};  // the nearest first, as far as the chain holds
  bool complete = false;              // the last of them starts from its seed
  std::string problem{};              // where it does not hold: why
};

// `start`: the SHA-256 of the file of weights that the claimed run's job binds.
Lineage WalkLineage(const Digest& start, std::span<const Parent> parents);

}  // namespace assay::own
