// Two claims about what may be the same model: which was committed to first, and whether one begins where the other has been. Pure, but for the states that a claim shows,
// which are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/monitor/rules.h"
#include "assay/own/lineage.h"
#include "assay/own/opened.h"
#include "assay/sign/witness.h"

namespace assay::own {

enum class First : std::uint8_t { kUnknown, kThis, kOther };
std::string_view Name(First first);  // "this"

struct Comparison {
  First first = First::kUnknown;
  std::vector<std::string> why{};                          // what the order follows from
  bool same_weights = false;                               // both receipts are for the same model
  std::int64_t common_entries = 0;                         // from the start on, states that both logs have
  std::optional<std::int64_t> this_starts_in{};            // after how many steps of the other
  std::optional<std::int64_t> other_starts_in{};           // after how many steps of this one
  std::optional<std::uint64_t> this_seen{}, other_seen{};  // seconds since 1970, by a witness
  monitor::RuleResult rule;                                // what it means for this claim
};

// Times count that one of the witnesses has signed. `lineage` is that of `mine`: whom it names as those that it descends from.
Comparison Compare(const OpenedClaim& mine, const Lineage& lineage, const OpenedClaim& other,
                   const std::vector<WitnessKey>& witnesses, ThreadPool& pool);

}  // namespace assay::own
