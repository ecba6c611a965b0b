// What a job file may be made of, looked at before the TOML parser sees it. Internal to job/. Pure.
#pragma once

#include <string_view>

#include "assay/base/result.h"

namespace assay::job {

// Valid UTF-8, and nothing but ASCII outside comments and one-line strings. TOML asks for no other character there, but toml++ 3.3 does
// not refuse one: its table of white space has undefined behaviour for some three thousand of them.
Status CheckCharacters(std::string_view text, std::string_view name);

}  // namespace assay::job
