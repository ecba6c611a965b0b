// Outside text inside a one-line message. Pure.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// 'text' with everything but visible ASCII and spaces written as \xNN, cut after 80 characters.
std::string Quote(std::string_view text);

}  // namespace assay
