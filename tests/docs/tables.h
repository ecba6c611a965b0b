// Tables of the pages that exist in code: ops with their attributes, fields of a job's encoding.
#pragma once

#include <string>
#include <vector>

namespace assay::docs {

// The names of ops; with `attributes`, also of theirs.
std::vector<std::string> OpNames(bool attributes);
std::string OpsTable();        // docs/formats/ops.md
std::string JobFieldsTable();  // docs/formats/job.md
// Ops by what rounded jobs make of them; docs/formats/rounded.md.
std::string RoundedOpsTable();
std::vector<std::string> BoundedOpNames();

}  // namespace assay::docs
