// The parts of `assay dispute`: what was asked for, disputes of run directories on this machine, and how a dispute is held and reported, whoever takes part.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/cli/command.h"
#include "assay/cli/verdict.h"
#include "assay/dispute/arbitrate.h"

namespace assay::cli {

struct DisputeOptions {
  std::vector<std::string> runs;
  std::vector<std::string> providers;
  std::string job;
  std::string data;
  std::string evidence;
  std::string ca_file;
  std::vector<std::string> keys;
  std::string referee_key;
  float patience_s = 60;
  float rerun_s = 3600;
  ComputeOptions compute;
  bool json = false;
  bool quiet = false;
};

// What whoever holds the dispute can add to its verdict.
using Explain = std::function<void(const dispute::Arbitration& result, VerdictView& view)>;

// Holds the dispute, writes its evidence, prints the verdict. Returns the exit status.
Result<int> HoldDispute(DisputeOptions options, std::vector<std::unique_ptr<dispute::Peer>> peers,
                        dispute::ArbitrateOptions how, const Explain& explain);

// Between the two run directories of the options.
Result<int> DisputeRuns(const DisputeOptions& options);

}  // namespace assay::cli
