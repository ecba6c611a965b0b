// Parts of the pages under docs/ that are made from the code's own tables. A part stands between `<!-- generated: NAME -->` and `<!-- end of NAME
// -->`, each alone on its line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"

namespace assay::docs {

// The page with what stands between the markers of `name` replaced by `text`; an error if it does not have them exactly once.
Result<std::string> WithPart(std::string_view page, std::string_view name, std::string_view text);

// An error that names the first of `names` that does not stand as a word somewhere behind `from`.
Status ExpectNamed(std::string_view page, std::string_view from, const std::vector<std::string>& names);

}  // namespace assay::docs
