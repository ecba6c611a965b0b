#include "assay/seal/header.h"

#include <gtest/gtest.h>

#include "support/seal_trial.h"

namespace assay::seal {
namespace {

constexpr std::string_view kVersion = "age-encryption.org/v1\n";
constexpr std::string_view kEnd = "--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n";  // of 32 zeros

std::string Around(std::string_view stanzas) { return fmt::format("{}{}{}", kVersion, stanzas, kEnd); }
std::string Refused(std::string_view stanzas) { return ErrorOf(ParseHeader(Around(stanzas), "x")); }

TEST(Header, WhatIsWrittenIsRead) {
  for (std::size_t size = 0; size < 150; ++size) {
    const std::vector<Stanza> stanzas = {{{"a", "!~", "c=d"}, Pattern(size)}, {{"b"}, {}}, {{"X25519", "y"}, Bytes(48, 9)}};
    Mac mac{};
    mac.fill(static_cast<std::uint8_t>(size));
    const std::string text = FinishHeader(HeaderText(stanzas), mac);
    const auto header = ParseHeader(text, "x");
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->stanzas, stanzas);
    EXPECT_EQ(header->mac, mac);
    EXPECT_EQ(MacPart(text), HeaderText(stanzas));
  }
}

TEST(Header, BodiesAreWrappedAt64Columns) {
  const std::string full(64, 'A');
  EXPECT_EQ(HeaderText({{{"k"}, Bytes(48)}}), fmt::format("{}-> k\n{}\n\n---", kVersion, full));
  EXPECT_EQ(HeaderText({{{"k"}, Bytes(50)}}), fmt::format("{}-> k\n{}\nAAA\n---", kVersion, full));
  EXPECT_EQ(HeaderText({{{"k"}, {}}}), fmt::format("{}-> k\n\n---", kVersion));
}

TEST(Header, Stanzas) {
  EXPECT_TRUE(ParseHeader(Around("-> k\n\n"), "x"));
  EXPECT_EQ(ErrorOf(ParseHeader(Around(""), "x")), "x: header: line 2: expected a stanza before the MAC");
  EXPECT_EQ(Refused("-> k\n"), "x: header: line 3: expected base64, but character 0 is none of its digits");
  EXPECT_EQ(Refused("->k\n\n"), "x: header: line 2: expected a stanza '-> KIND ...' or the end '--- MAC', got '->k'");
  EXPECT_EQ(Refused("k\n\n"), "x: header: line 2: expected a stanza '-> KIND ...' or the end '--- MAC', got 'k'");
  const std::string spaces = "x: header: line 2: expected arguments of visible ASCII with one space between them";
  for (const std::string_view line : {"-> ", "->  k", "-> k ", "-> k  l", "-> k\r", "-> k\x7f", "-> \xc3\xa4"}) {
    EXPECT_EQ(Refused(std::string(line) + "\n\n"), spaces) << line;
  }
}

TEST(Header, Bodies) {
  const std::string full(64, 'A');
  EXPECT_TRUE(ParseHeader(Around("-> k\n" + full + "\n\n"), "x"));
  EXPECT_FALSE(ParseHeader(Around("-> k\n" + full + "\n"), "x"));     // no short line
  EXPECT_FALSE(ParseHeader(Around("-> k\n" + full + "A\n\n"), "x"));  // too long
  EXPECT_FALSE(ParseHeader(Around("-> k\nAAAA\nAAAA\n"), "x"));       // two short lines
  EXPECT_FALSE(ParseHeader(Around("-> k\n\n\n"), "x"));               // two empty ones
  EXPECT_EQ(Refused("-> k\nAA==\n"), "x: header: line 3: expected base64 without padding");
  EXPECT_EQ(Refused("-> k\nA\n"), "x: header: line 3: expected base64 without padding");
  EXPECT_EQ(Refused("-> k\nAB\n"), "x: header: line 3: expected base64 whose unused last bits are zero");
  EXPECT_EQ(Refused("-> k\nAA\r\n"), "x: header: line 3: expected base64, but character 2 is none of its digits");
}

TEST(Header, Macs) {
  const std::string stanza = std::string(kVersion) + "-> k\n\n";
  const std::string why = "x: header: line 4: expected '--- ' and 43 characters of base64";
  const std::string digits(43, 'A');
  const std::vector<std::string> ends = {"---\n",
                                         "--- \n",
                                         "---" + digits + "\n",
                                         "--- " + digits + " \n",
                                         "---  " + digits + "\n",
                                         "--- " + digits + "=\n",
                                         "--- " + digits.substr(1) + "\n",
                                         "--- " + digits.substr(1) + "B\n",
                                         "----" + digits + "\n",
                                         "--- " + digits + "\r\n"};
  for (const std::string& end : ends) {
    EXPECT_EQ(ErrorOf(ParseHeader(stanza + end, "x")), why) << end;
  }
  EXPECT_FALSE(ParseHeader(stanza + "--- " + digits, "x"));
  EXPECT_FALSE(ParseHeader(stanza + "--- " + digits + "\n\n", "x"));
}

Result<std::string> Taken(std::string_view file, std::size_t step) {
  BufferedSource source(SpanSource(AsBytes(file), step));
  return ReadHeader(source, "x");
}

TEST(Header, IsTakenOffAFile) {
  const std::string header = Around("-> k\n\n");
  for (const std::size_t step : {1u, 5u, 10000u}) {
    const auto taken = Taken(header + "--- payload\n", step);
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(*taken, header);
  }
  for (std::size_t size = 1; size < header.size(); ++size) {
    EXPECT_NE(ErrorOf(Taken(header.substr(0, size), 7)).find("x: is truncated: it ends in "), std::string::npos) << size;
  }
}

TEST(Header, FilesThatAreNone) {
  const auto error = [](std::string_view file) { return ErrorOf(Taken(file, 100)); };
  EXPECT_EQ(error(""), "x: is empty, expected a sealed file (age-encryption.org/v1)");
  EXPECT_EQ(error("PK\x03\x04"), "x: is no sealed file (age-encryption.org/v1)");
  EXPECT_EQ(error(std::string(100, '\0')), "x: is no sealed file (age-encryption.org/v1)");
  EXPECT_EQ(error("age-encryption.org/v2\n-> k\n"), "x: is sealed in version 'v2', expected v1");
  EXPECT_EQ(error("age-encryption.org/v1\r\n"), "x: is sealed in version 'v1\\x0d', expected v1");
  // No line end ever: memory is bounded.
  EXPECT_EQ(error(std::string(kVersion) + std::string(1 << 20, 'a')), "x: header: is longer than 262144 bytes");
  std::string many(kVersion);
  while (many.size() < kMaxHeader) many += "-> k\n\n";
  EXPECT_EQ(error(many + std::string(kEnd)), "x: header: is longer than 262144 bytes");
}

}  // namespace
}  // namespace assay::seal
