// The target of a request, taken apart: "/v1/jobs/j-1?after=17&name=a%20b". Pure functions of text that may be anything.
//
// What is accepted is narrow, so that one resource has one spelling and no trick of spelling reaches another: no empty segments but one
// at the end, no "." and "..", no '/' or control character behind an escape, no '+' in a query (which some read as a space), no name
// twice, no text that is not UTF-8.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/result.h"

namespace assay {

struct Target {
  std::vector<std::string> path;                           // segments, decoded; "/" has none, "/a/" has "a" and ""
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in their order

  std::optional<std::string_view> Query(std::string_view name) const;  // the first of this name
};

// kForm: as HTML forms and many clients write queries, a '+' for a space and a name more than once. For APIs of others.
enum class QueryRule { kStrict, kForm };
Result<Target> ParseTarget(std::string_view text, QueryRule rule = QueryRule::kStrict);

// One segment of a path, or a name or value of a query, with everything escaped that is not a letter, a digit or one of "-._~".
std::string PercentEncode(std::string_view text);

}  // namespace assay
