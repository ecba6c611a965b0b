// What each set of rules says of a run: the columns of the table.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/monitor/rules.h"
#include "assay/sign/key.h"
#include "assay/train/prepare.h"

namespace assay::checks {

inline constexpr std::string_view kColumns[] = {"check seed", "check strict", "pev seed", "pev strict",
                                                "own seed",   "own strict",   "audit"};

struct Cell {
  monitor::RuleState state = monitor::RuleState::kUnchecked;
  std::string why{};  // the first rule that does not accept
};
using Cells = std::array<Cell, std::size(kColumns)>;

struct Looked {
  std::string run;                     // its directory
  const PreparedJob& asked;            // the job that was asked for
  VerifyKey signer;                    // and of whom
  std::vector<std::string> parents{};  // that the claimant names
  bool grinding = false;               // the expert insists on a seed that nobody chose
};

// By strict rules everything is drawn that can be: all snapshots, all samples, all stretches. By the published ones, 10 % and two stretches of each epoch.
Cells LookAt(const Looked& looked, Backend& backend, ThreadPool& pool);

}  // namespace assay::checks
