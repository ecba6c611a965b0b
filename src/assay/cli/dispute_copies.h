// The run directories of `assay dispute RUN RUN` as copies, before anybody is asked and where nobody can be: which are whole, which are damaged, and which are
// refuted all the same, by parts that are whole. What is said here rests on the copies that lie on this machine; it is no evidence for a judge.
//
// Not synchronised.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/audit/audit.h"
#include "assay/cli/dispute_command.h"

namespace assay::cli {

struct DisputedCopy {
  std::string label, path;
  std::optional<RunDirectory> run{};  // none: it cannot be opened, which is among its faults
  RunFaults faults{};

  NamedParty Party(const std::string& why) const;
};

// An error: a path is none of a run.
Result<std::vector<DisputedCopy>> OpenCopies(const std::vector<std::string>& paths);
// Of copies that can be opened. An error: one is not of this job, has no receipt, or cannot be read here.
Status FindFaultsIn(std::vector<DisputedCopy>& copies, const PreparedJob& prepared, ThreadPool& pool);

bool IsAnyDamaged(const std::vector<DisputedCopy>& copies);

// What can be said without asking the runs. A copy whose signer contradicts itself is accused, and so is one that `audit`, of all its steps, refutes, damaged or
// not. A damaged copy that nothing refutes leaves everything open.
VerdictView DecideWithoutDispute(const std::vector<DisputedCopy>& copies,
                                 const std::function<AuditReport(const DisputedCopy& copy)>& audit);

// Who stands by the law and contradicts itself in what the law does not ask about, such as a snapshot, is accused.
void AccuseLiars(const std::vector<DisputedCopy>& copies, VerdictView& view);

}  // namespace assay::cli
