// What `assay worker` does, for it and for workers that cheat (tests/attacks): they differ in how they train and answer alone.
#pragma once

#include <cstdint>
#include <string>

#include "assay/cli/command.h"
#include "assay/worker/craft.h"

namespace assay::cli {

struct WorkerTerms {
  std::string work;           // folder
  std::string key;            // empty: the folder's own
  std::string server, token;  // empty: ASSAY_SERVER, ASSAY_TOKEN
  std::string ca_file;
  std::string coordinator;   // key, or a file with it; empty: as it was met first
  std::string memory, disk;  // "2GiB"; empty: what there is
  std::int64_t seconds = 0;  // 0: no limit
  bool once = false;
  bool quiet = false;
  ComputeOptions compute;
};
void AddWorkerOptions(Subcommand& subcommand, WorkerTerms& options);

// Works until SIGINT or SIGTERM, or until it is done with its first order. The exit status.
Result<int> RunWorkerWith(const WorkerTerms& options, worker::Craft& craft);

}  // namespace assay::cli
