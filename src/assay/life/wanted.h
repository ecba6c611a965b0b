// Wanted: what an order needs next, by its policy and what has become of it so far (docs/formats/life.md, "What follows from a life"). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/life/life.h"

namespace assay::life {

struct Wanted {
  std::int64_t runs = 0;                // training leases, each for a key that the life does not know
  std::vector<LeaseNumber> challenges;  // audits whose auditor has to train; one lease for each, to that auditor's key
  std::vector<LeaseNumber> audits;      // runs that want an audit, each by a key that the life does not know
  std::vector<LeaseNumber> dispute;     // runs that differ; empty: no dispute is wanted
  std::optional<Decided> decision;      // nothing else is wanted then
};

Wanted WantedBy(const Life& life);

// Whether `policy` lets this run go unchecked, given the draw (32 random bytes, drawn after the receipt) and how many clean jobs its key has
// behind it. What it risks is in docs/PLATFORM.md, "Policies".
bool MayWaive(const Policy& policy, std::int64_t record, const Digest& draw);
inline constexpr std::int64_t kLongRecord = 20;

}  // namespace assay::life
