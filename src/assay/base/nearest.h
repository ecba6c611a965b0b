// What somebody who misspelt a name may have meant. Pure; thread safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

// The candidate that a typo or two lead from to `word`: letters left out, added, changed or swapped with their neighbour. A short word allows for one.
// None where nothing is so near.
std::optional<std::string> Nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace assay
