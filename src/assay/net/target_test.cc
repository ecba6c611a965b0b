#include "assay/net/target.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using Path = std::vector<std::string>;

TEST(Target, PathsAndQueries) {
  EXPECT_EQ(ParseTarget("/")->path, Path{});
  EXPECT_EQ(ParseTarget("/v1/jobs/a%20b%c3%a4")->path, (Path{"v1", "jobs", "a b\xc3\xa4"}));
  EXPECT_EQ(ParseTarget("/v1/")->path, (Path{"v1", ""}));
  const auto target = ParseTarget("/a?x=1&y=&z%3D=%26%2B");
  ASSERT_TRUE(target) << target.error().message;
  EXPECT_EQ(target->path, Path{"a"});
  EXPECT_EQ(target->Query("x"), "1");
  EXPECT_EQ(target->Query("y"), "");
  EXPECT_EQ(target->Query("z="), "&+");
  EXPECT_EQ(target->Query("w"), std::nullopt);
  EXPECT_TRUE(ParseTarget("/a?")->query.empty());
}

TEST(Target, Tricks) {
  for (const std::string_view text :
       {"",           "a",     "*",       "http://a/b",    "//",          "//a",        "/a//b",
        "/a//",       "/.",    "/a/..",   "/a/../b",       "/%2e%2E/b",   "/a%2fb",     "/a%00",
        "/a%0a",      "/%7f",  "/%",      "/%1",           "/%g1",        "/%-1",       "/%c0%af",
        "/%ed%a0%80", "/%ff",  "/%c3",    "/%f4%90%80%80", "/a b",        "/a#b",       "/\xc3\xa4",
        "/a?x",       "/a?=1", "/a?x=1&", "/a?&x=1",       "/a?x=1&&y=2", "/a?x=1&x=2", "/a?x=1&%78=2",
        "/a?x=1+2",   "/a?x=%"}) {
    const auto target = ParseTarget(text);
    ASSERT_FALSE(target) << text;
    EXPECT_EQ(target.error().message.find('\n'), std::string::npos);
  }
}

TEST(Target, FormsRepeatNamesAndWriteSpacesAsPlus) {
  const auto target = ParseTarget("/a?x=1+2&x=%2B&y=", QueryRule::kForm);
  ASSERT_TRUE(target) << target.error().message;
  const std::vector<std::pair<std::string, std::string>> query = {{"x", "1 2"}, {"x", "+"}, {"y", ""}};
  EXPECT_EQ(target->query, query);
  EXPECT_EQ(target->Query("x"), "1 2");
  for (const char* text : {"/a?x", "/a?x=1&", "/a?x=%", "/a?x=%0a", "/a+b?x=1&&y=2"})
    EXPECT_FALSE(ParseTarget(text, QueryRule::kForm)) << text;
}

TEST(Target, EncodingIsUndone) {
  std::string text;
  for (int c = ' '; c < 0x7f; ++c) {
    if (c != '/') text += static_cast<char>(c);
  }
  text += "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
  EXPECT_EQ(ParseTarget("/" + PercentEncode(text))->path, Path{text});
  EXPECT_EQ(ParseTarget("/?a=" + PercentEncode(text))->Query("a"), text);
  EXPECT_EQ(PercentEncode("a/b c"), "a%2Fb%20c");
}

}  // namespace
}  // namespace assay
