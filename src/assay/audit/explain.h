// What a false entry of a log can be made out to be. Given the first entry that a replay contradicts, this names the step, where it can the node and
// the leaf, and says in words what was done instead.
//
// Three sources, from the most to the least exact: the provider's trace of the step, its snapshot after the step, and a list of things that
// trainers do wrong, each tried out and compared with the root that was claimed.
#pragma once

#include "assay/audit/claims.h"
#include "assay/audit/replay.h"

namespace assay {

// `replay` stands just after the step of the entry, which is `mine` by its account.
Refutation Explain(const RunDirectory& run, Replay& replay, const ReplayedEntry& mine, ThreadPool& pool);

// The starting state is not the one that the log claims.
Refutation ExplainStart(const PreparedJob& prepared, const LogEntry& claimed, ThreadPool& pool);

}  // namespace assay
