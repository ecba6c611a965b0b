// Schema by version: the statements that lead from an empty database to the schema of this program, step by step.
//
// A step that was released is never changed: a later one corrects it. The table `schema_versions` remembers what was applied, with the SHA-256
// of its text. Each step is one transaction together with its row, and only one process takes a step at a time, so that several may start at
// once and one that is killed leaves whole steps. Thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "assay/base/result.h"
#include "assay/store/database.h"

namespace assay::store {

struct Migration {
  std::int64_t version;   // 1, 2, 3 …
  std::string_view name;  // what it is for, in messages
  std::string_view sql;   // statements divided by semicolons, in the dialect of database.h
};

// Applies the steps that the database lacks, and says how many those were. Refuses a database to which steps were applied that this program
// does not know (it is newer) or knows with another text; nothing is changed then.
Result<std::int64_t> Migrate(Database& database, std::span<const Migration> steps);

}  // namespace assay::store
