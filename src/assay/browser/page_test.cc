#include "assay/browser/page.h"

#include <gtest/gtest.h>

#include "assay/base/base64.h"
#include "assay/merkle/sha256.h"

namespace assay::browser {
namespace {

Bytes BytesOf(std::string_view text) { return {text.begin(), text.end()}; }

std::string Between(const std::string& page, const std::string& begin, const std::string& end) {
  const std::size_t from = page.find(begin);
  if (from == std::string::npos) return "no " + begin;
  return page.substr(from + begin.size(), page.find(end, from + begin.size()) - from - begin.size());
}

std::string PageOf(std::string_view evidence) {
  return JudgePage(BytesOf("judge"), BytesOf(evidence), {.name = "a </script> @wasm@", .job = "00ff", .signers = {"k+1+2"}});
}

TEST(JudgePage, CarriesJudgeEvidenceAndWhatWasInsistedOn) {
  const std::string page = PageOf("evidence <&>");
  EXPECT_EQ(Between(page, "id=\"judge-wasm\">", "</script>"), Base64(BytesOf("judge")));
  EXPECT_EQ(Between(page, "id=\"evidence\">", "</script>"), Base64(BytesOf("evidence <&>")));
  const auto options = FromBase64(Between(page, "id=\"options\">", "</script>"));
  ASSERT_TRUE(options);
  EXPECT_EQ(std::string(options->begin(), options->end()), R"({"name":"a </script> @wasm@","job":"00ff","signers":["k+1+2"]})");
}

// A browser runs nothing that the policy does not name by the hash of its text.
TEST(JudgePage, PolicyNamesTheScriptAndTheStyle) {
  const std::string page = PageOf("e");
  for (const auto& [what, begin, end] : {std::tuple("script-src '", "<script type=\"module\">", "</script>"),
                                         std::tuple("style-src '", "<style>", "</style>")}) {
    const std::string text = Between(page, begin, end);
    EXPECT_GT(text.size(), 500u);
    EXPECT_EQ(Between(page, what, "'"), "sha256-" + Base64(HashBytes(BytesOf(text)).bytes)) << what;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
}

}  // namespace
}  // namespace assay::browser
