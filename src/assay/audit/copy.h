// Whether a run directory is a whole copy: everything that its signed parts commit to is there, and is what they commit to. Whether what was signed is true is another
// question, for an audit or a dispute: a copy that is damaged speaks against nobody, and no verdict can rest on it.
//
// No step is run again. The files are only read; functions without state.
#pragma once

#include <optional>

#include "assay/audit/claims.h"
#include "assay/base/thread_pool.h"

namespace assay {

// The first damage to the copy; nothing where it is whole, or where what its signer signed contradicts itself. An error: cannot be told here.
Result<std::optional<Refutation>> FindDamage(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected,
                                             ThreadPool& pool);

// Every snapshot that was kept is one that an honest replay could start from.
std::optional<Error> CheckSnapshotContents(const RunDirectory& run, const PreparedJob& prepared, ThreadPool& pool);

}  // namespace assay
