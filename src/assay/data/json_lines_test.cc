#include "assay/data/json_lines.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string Text(std::string_view line, std::string_view field = "text") {
  std::string text;
  const Status status = ReadJsonField(line, field, text);
  return status ? text : "error: " + status.error().message;
}

TEST(JsonLines, TakesTheOneField) {
  EXPECT_EQ(Text(R"({"text":"a b"})"), "a b");
  EXPECT_EQ(Text(" { \"id\" : -1.5e+3 , \"meta\" : {\"text\": [1, {}, [], null, true]} , \"text\" : \"x\" } \r\n"), "x");
  EXPECT_EQ(Text(R"({"text":"","body":"y"})", "body"), "y");
  EXPECT_EQ(Text(R"({"text":""})"), "");
  EXPECT_EQ(Text("{\"text\":\"\xc3\xa9\xff\"}"), "\xc3\xa9\xff");
}

TEST(JsonLines, TurnsEscapesIntoUtf8) {
  EXPECT_EQ(Text(R"({"text":"\"\\\/\b\f\n\r\t"})"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(Text(R"({"text":"\u0041\u00e9\u20ac\ud83d\ude42"})"), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82");
  EXPECT_EQ(Text(R"({"te\u0078t":"x"})"), "x");
  EXPECT_EQ(Text(R"({"text":"\ud83d\u0041"})"),
            "\xef\xbf\xbd"
            "A");
  EXPECT_EQ(Text(R"({"text":"\ude42-\ud83d"})"), "\xef\xbf\xbd-\xef\xbf\xbd");
  EXPECT_EQ(Text(R"({"text":"\ud83d\ud83d\ude42"})"), "\xef\xbf\xbd\xf0\x9f\x99\x82");
}

TEST(JsonLines, RefusesWhatIsNoObjectWithTheField) {
  EXPECT_EQ(Text(R"({"id":1})"), "error: has no field 'text'");
  EXPECT_EQ(Text(R"({"text":1})"), "error: field 'text': expected a text");
  EXPECT_EQ(Text(R"({"text":"a","text":"b"})"), "error: has the field 'text' twice");
  EXPECT_EQ(Text("[1]"), "error: expected an object at byte 0 of the line");
  EXPECT_EQ(Text(""), "error: expected an object at byte 0 of the line");
  EXPECT_EQ(Text(R"({"text":"a"} x)"), "error: expected the end of the line at byte 13 of the line");
  EXPECT_EQ(Text(R"({"text":"a)"), "error: expected the end of a text at byte 10 of the line");
  EXPECT_EQ(Text("{\"text\":\"a\nb\"}"), "error: expected the end of a text at byte 10 of the line");
  EXPECT_EQ(Text(R"({"text":"\x"})"), "error: expected an escape of JSON at byte 10 of the line");
  EXPECT_EQ(Text(R"({"text":"\u12g4"})"), "error: expected four hex digits at byte 13 of the line");
  EXPECT_EQ(Text(R"({"a":1 "text":"x"})"), "error: expected a comma or the end of the object at byte 7 of the line");
  EXPECT_EQ(Text(R"({"a" 1})"), "error: expected a colon at byte 5 of the line");
  for (const char* value : {"01", "-", "1.", "1e", "tru", "nan", "[1,]", "{1:2}", "{\"a\":}", "[", "'x'"}) {
    EXPECT_TRUE(Text(R"({"text":"x","a":)" + std::string(value) + "}").starts_with("error: ")) << value;
  }
}

TEST(JsonLines, BoundsNesting) {
  const auto nested = [](std::size_t levels) {
    return R"({"text":"x","a":)" + std::string(levels, '[') + std::string(levels, ']') + "}";
  };
  EXPECT_EQ(Text(nested(64)), "x");
  EXPECT_EQ(Text(nested(65)), "error: expected at most 64 levels at byte 80 of the line");
  EXPECT_TRUE(Text(nested(100000)).starts_with("error: "));
}

TEST(JsonLines, KnowsBlankLines) {
  EXPECT_TRUE(IsBlank(" \t\r\n"));
  EXPECT_TRUE(IsBlank(""));
  EXPECT_FALSE(IsBlank(" {"));
}

}  // namespace
}  // namespace assay
