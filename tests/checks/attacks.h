// What is known against proof of learning and against watching a training, beside the cheats of tests/attacks: as hooks into a training.
#pragma once

#include <span>

#include "cheat.h"

namespace assay::checks {

struct Attack {
  std::string_view name, what;
  Result<attacks::Hooks> (*make)(const attacks::Setting& setting) = nullptr;
};

std::span<const Attack> KnownAttacks();

}  // namespace assay::checks
