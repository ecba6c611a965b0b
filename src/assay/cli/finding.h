// What a dispute found, for people and for programs.
#pragma once

#include <optional>
#include <string>

#include "assay/cli/json.h"
#include "assay/dispute/evidence.h"

namespace assay::cli {

// The last trial's: that which decided between the last two claims. None where nobody was tried.
std::optional<dispute::Finding> DecidingFinding(const dispute::Judgement& judgement);

// step, node, node_name, leaf, element, cause, reason: null where they do not apply.
void AddFinding(OrderedJson& json, const std::optional<dispute::Finding>& finding);

// Who was found guilty of what, a line each.
std::string JudgementText(const dispute::Judgement& judgement);

// In plain words, with the numbers that differ.
std::string Explanation(const dispute::Finding& finding);

}  // namespace assay::cli
