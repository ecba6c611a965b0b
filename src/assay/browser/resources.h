// What pages are made of, as the build found it. Constant.
#pragma once

#include <string_view>

namespace assay::browser {

extern const std::string_view kPageHtml, kPageCss, kPageJs, kJudgeJs;

}  // namespace assay::browser
