#include "assay/browser/page.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "assay/base/base64.h"
#include "assay/base/check.h"
#include "assay/browser/page_files.h"
#include "assay/browser/resources.h"
#include "assay/merkle/sha256.h"
#include "assay/verdict/json.h"

namespace assay::browser {
namespace {

ByteSpan AsBytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

// What a content security policy calls an inline script or style.
std::string PolicyHash(std::string_view text) { return "sha256-" + Base64(HashBytes(AsBytes(text)).bytes); }

// @name@ in the template by its value; what is filled in is not looked at again.
std::string Filled(std::string_view form, const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (true) {
    const std::size_t at = form.find('@');
    out += form.substr(0, at);
    if (at == std::string_view::npos) return out;
    const std::size_t end = form.find('@', at + 1);
    ASSAY_CHECK(end != std::string_view::npos);
    const auto value = values.find(form.substr(at + 1, end - at - 1));
    ASSAY_CHECK(value != values.end());
    out += value->second;
    form.remove_prefix(end + 1);
  }
}

}  // namespace

Result<ByteSpan> EmbeddedJudge() {
  const auto files = PageFiles();
  const auto judge = std::ranges::find(files, "judge.wasm", &PageFile::name);
  if (judge == files.end())
    return Err("this build has no browser judge: run scripts/bootstrap.sh wasm, configure and build again");
  return judge->plain;
}

std::string JudgePage(ByteSpan judge, ByteSpan evidence, const PageOptions& options) {
  verdict::OrderedJson asked = {{"name", options.name}};
  if (!options.job.empty()) asked["job"] = options.job;
  if (!options.signers.empty()) asked["signers"] = options.signers;
  const std::string script = std::string(kJudgeJs) + std::string(kPageJs);
  return Filled(kPageHtml, {{"script_hash", PolicyHash(script)},
                            {"style_hash", PolicyHash(kPageCss)},
                            {"style", std::string(kPageCss)},
                            {"wasm", Base64(judge)},
                            {"evidence", Base64(evidence)},
                            {"options", Base64(AsBytes(verdict::Dump(asked)))},
                            {"script", script}});
}

}  // namespace assay::browser
