// Cheats as workers of the platform: each trains by its lie and answers for it as its liar would; some lie in how they keep the protocol instead.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "assay/worker/craft.h"
#include "cheat.h"

namespace assay::attacks {

struct WorkerCheat {
  std::string_view name;
  std::string_view what;
};
// Those that are no cheats of a trainer.
std::span<const WorkerCheat> WorkerCheats();

// `at`: where a trainer's cheat begins, 0: in the middle. `stall_s`: for how long "late" stands still. An error: there is no such cheat.
Result<std::unique_ptr<worker::Craft>> MakeWorkerCheat(std::string_view name, std::int64_t at, int stall_s);

// `cheat NAME --worker ...`: the exit status.
int WorkerMain(int argc, char** argv);

}  // namespace assay::attacks
