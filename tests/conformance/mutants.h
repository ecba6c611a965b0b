// Mutations of an op's cases: attributes and types that nobody meant. The same on every machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/graph/op_def.h"

namespace assay::testkit {

// Within what the decoder of programs lets through.
std::vector<OpCase> MutantsOf(const OpDef& def);

// The op applied to the case, if it accepts it as part of a graph.
std::optional<OpInstance> Accepted(const OpDef& def, const OpCase& c);

std::string Describe(const OpDef& def, const OpCase& c);

}  // namespace assay::testkit
