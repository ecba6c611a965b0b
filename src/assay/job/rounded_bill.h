// RoundedBill: the most bytes of answers that a dispute about an fp64-rounded job can take (docs/formats/dispute.md, "Rounded jobs"), as it follows from the job's shapes. A job that
// could take more than kMaxRoundedBytes is none that is accepted (limits.h); what a job leaves of them is spent on comparing entries. Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/graph/program.h"
#include "assay/job/job.h"

namespace assay {

// Of all answers of both parties.
inline constexpr std::uint64_t kMaxRoundedBytes = 4'000'000;

class RoundedBill {
 public:
  // The program must outlive it.
  RoundedBill(const Job& job, const Program& program);

  // To the end about an element of this op, without any entries that are compared one by one: the way down to the element, what it is computed from, and what both rounding logs say about it.
  std::uint64_t Most(const OpInstance& op) const;
  // How many entries can be compared one by one, both parties' of each, so that no dispute takes more than kMaxRoundedBytes. Of a job that is within the limits.
  std::uint64_t EntriesCompared() const;

 private:
  const Program& program_;
  std::uint64_t entries_ = 1, nodes_ = 1;  // of the log, of a step
  std::uint64_t to_node_ = 0;
  std::uint64_t logs_ = 0;   // what both show of their rounding logs
  std::uint64_t other_ = 0;  // to the end about anything but an element of an output
};

}  // namespace assay
