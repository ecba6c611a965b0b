// Verifying a claim of ownership: the published rule, literally, or ours (docs/CHECKS.md, "Ownership"). What was signed is checked by the functions that check run directories, and
// steps are run again by the audit's replay.
//
// The report depends on the claim and the options, not on this machine. Not synchronised.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/audit/checked_run.h"
#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/own/distance.h"
#include "assay/own/lineage.h"
#include "assay/own/opened.h"

namespace assay::own {

struct VerifyOptions {
  RuleSet rules = RuleSet::kStrict;
  std::string data{};  // where the data is, instead of the job's path
  // The claim must be drawn by it, unless the whole run is at hand: then what it draws is taken from there.
  std::optional<Bytes> nonce{};
  std::string run{};                  // a directory of the claimed run; empty: there is none
  std::optional<Digest> receipt{};    // SHA-256 of the receipt that was known when the nonce was given
  std::optional<Digest> seed_from{};  // the seed must follow from it
  std::optional<VerifyKey> signer{};  // who must have signed
  std::optional<Digest> job{};        // what must have been trained
  std::function<void(std::int64_t done, std::int64_t of)> on_step{};
  std::function<bool()> should_stop{};
};

// One stretch that was run again.
struct StretchResult {
  Stretch stretch;
  std::optional<bool> equal{};         // strict: bit for bit what was committed
  std::optional<Distance> distance{};  // seed: between the weights claimed at its end and those of the replay
  std::optional<double> limit{};       // seed: the mean norm of the gradients of its steps
  std::string reason{};
};

struct OwnReport {
  monitor::RuleState state = monitor::RuleState::kUnchecked;
  std::vector<monitor::RuleResult> rules{};
  std::vector<StretchResult> stretches{};
  Lineage lineage{};
  std::vector<std::string> assumed{};  // what is taken on trust
  std::string reason{};                // where there are no rules: why
};

// The backend is the one for this job's precision. An error: cannot be told here.
using BackendFor = std::function<Result<Backend*>(const Job&)>;

OwnReport VerifyClaim(const OwnershipClaim& claim, const OpenedClaim& opened, const VerifyOptions& options,
                      const BackendFor& backend_for, ThreadPool& pool);

}  // namespace assay::own
