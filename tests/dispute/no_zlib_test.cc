// What a build without zlib makes of compressed logs: it cannot read them, and so knows nothing about who wrote them.
#include <gtest/gtest.h>

#include "assay/rounding/rounder.h"
#include "crafted.h"
#include "unbounded.h"

namespace assay::dispute {
namespace {

// A log of the packed form as another build would write it: its one segment as a zlib stream, of blocks that are stored.
Bytes CompressedLog(const Bytes& packed_log) {
  constexpr std::size_t kTable = rounding::kPaperHeaderBytes + rounding::kPaperEntryBytes;
  const ByteSpan packed = ByteSpan(packed_log).subspan(kTable);
  const auto length = static_cast<std::uint16_t>(packed.size());
  const auto low = [](unsigned value) { return static_cast<std::uint8_t>(value); };
  Bytes stream{0x78, 0x01, 0x01, low(length), low(length >> 8u), low(~length), low(~length >> 8u)};
  unsigned a = 1, b = 0;  // Adler-32
  for (const std::uint8_t byte : packed) {
    stream.push_back(byte);
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  for (const unsigned half : {b, a}) stream.insert(stream.end(), {low(half >> 8), low(half)});
  Bytes log(packed_log.begin(), packed_log.begin() + rounding::kPaperHeaderBytes);
  log.back() = 1;  // the form
  ByteWriter end;
  end.U64(stream.size());
  log.insert(log.end(), end.bytes().begin(), end.bytes().end());
  log.insert(log.end(), stream.begin(), stream.end());
  return log;
}

TEST(NoZlib, ACompressedLogConvictsNobody) {
  const Unbounded job(32, RoundRule::kPaper, false);
  const Bytes packed = job.Symbols(), compressed = CompressedLog(packed);
  ASSERT_EQ(packed[rounding::kPaperHeaderBytes - 1], 0) << "written as it is";
  for (const int which : {1, 2, 3}) {
    Crafted crafted(job.terms());
    job.Add(crafted, false, 1, (which & 1) != 0 ? compressed : packed);
    job.Add(crafted, true, 1024, (which & 2) != 0 ? compressed : packed);
    const Charge trial = crafted.Tried(0, 1);
    const auto* open = std::get_if<Undecided>(&crafted.outcome().next);
    ASSERT_NE(open, nullptr);
    EXPECT_NE(open->why.find("this build cannot decompress"), std::string::npos) << open->why;
    const auto judgement = Judge(crafted.Make({trial}));
    ASSERT_TRUE(judgement) << judgement.error().message;
    EXPECT_FALSE(judgement->convicts);
    EXPECT_EQ(judgement->unchecked.size(), 1u);
  }
}

// What can be told without the log is told.
TEST(NoZlib, WhatDoesNotProveItselfConvictsAllTheSame) {
  const Unbounded job(32, RoundRule::kPaper, false);
  const Bytes compressed = CompressedLog(job.Symbols());
  Crafted crafted(job.terms());
  job.Add(crafted, false, 1, compressed);
  job.Add(crafted, true, 1024, compressed, RoundingLeaf{.bytes = compressed.size(), .root = HashBytes({})});
  crafted.Tried(0, 1);
  const auto* finding = std::get_if<Finding>(&crafted.outcome().next);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->cause, Cause::kUnproven);
  EXPECT_FALSE(finding->guilty[0]);
  EXPECT_TRUE(finding->guilty[1]);
}

// Nor does an auditor or a follower take it for false.
TEST(NoZlib, WhoFollowsSaysThatItCannot) {
  const Bytes compressed = CompressedLog(rounding::EncodePaperLog(std::vector<std::uint8_t>(100, rounding::kNotClose)));
  const auto decoded = rounding::DecodePaperLog(compressed, "log");
  ASSERT_FALSE(decoded);
  EXPECT_TRUE(decoded.error().system) << decoded.error().message;
  rounding::Rounder rounder(32, rounding::Rule::kPaper);
  const Status amended = rounder.BeginAmend(compressed, "log");
  ASSERT_FALSE(amended);
  EXPECT_TRUE(amended.error().system) << amended.error().message;
}

}  // namespace
}  // namespace assay::dispute
