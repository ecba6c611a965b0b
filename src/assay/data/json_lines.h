// One field of a line of JSON lines: the text of a document among what is said about it.
//
// A line is one JSON object (RFC 8259). All of it is checked, nothing but the field is kept. The bytes may come from anyone: nesting is bounded,
// and no more is allocated than the line is long. Pure; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "assay/base/result.h"

namespace assay {

// Puts the text of the member `field` of the object that `line` is into `text`. Escapes become UTF-8, half a surrogate pair becomes U+FFFD;
// bytes that are not valid UTF-8 stay as they are. An error says what was expected at which byte of the line.
Status ReadJsonField(std::string_view line, std::string_view field, std::string& text);

// Whether nothing but white space is on the line.
bool IsBlank(std::string_view line);

}  // namespace assay
