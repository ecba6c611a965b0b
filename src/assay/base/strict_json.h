// JSON from outside, read strictly: a text in which a name stands twice in one object, or that nests deeper than its format does, is refused, because other
// readers take such texts differently. Memory stays within a multiple of the text. Pure; thread safe.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/result.h"

namespace assay {

// What reading makes of a byte of the text, at most.
inline constexpr std::uint64_t kJsonGrowth = 40;

// The object that the text is; `what` names it in errors.
Result<nlohmann::json> ParseJsonObject(std::string_view text, std::string_view what, int max_depth);

// A value as messages show it: "null", "12", "'gelu'", "a list", "an object".
std::string DescribeJson(const nlohmann::json& value);

}  // namespace assay
