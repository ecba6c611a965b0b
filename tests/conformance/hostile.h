// Programs come from outside, so an op must refuse, or compute safely, whatever attributes and types it is given.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "assay/graph/op_def.h"
#include "conformance/backends.h"

namespace assay::testkit {

struct HostileCounts {
  std::int64_t tried = 0;
  std::int64_t accepted = 0;  // and run, on every backend, when small enough
};

// Tries mutations of the op's cases: none may crash, and what the op accepts must conform like any other case.
std::string CheckHostile(const OpDef& def, std::span<const NamedBackend> backends, HostileCounts& counts);

}  // namespace assay::testkit
