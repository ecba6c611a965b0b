#include "assay/rounding/find_decision.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "assay/rounding/decision_log.h"
#include "assay/rounding/decision_segment.h"
#include "assay/rounding/log_header.h"
#include "assay/rounding/paper_log.h"

namespace assay::rounding {
namespace {

// Hands out parts and counts them.
class Counted : public PartialLog {
 public:
  explicit Counted(ByteSpan bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<Bytes> Read(std::uint64_t begin, std::uint64_t end) override {
    if (begin >= end || end > bytes_.size()) ADD_FAILURE() << begin << " .. " << end << " of " << bytes_.size();
    read_ += end - begin;
    const ByteSpan part = bytes_.subspan(begin, end - begin);
    return Bytes(part.begin(), part.end());
  }
  std::uint64_t read() const { return read_; }

 private:
  ByteSpan bytes_;
  std::uint64_t read_ = 0;
};

std::vector<Decision> RandomDecisions(std::mt19937_64& random, std::size_t count, std::uint64_t most_apart) {
  std::vector<Decision> decisions;
  std::uint64_t next = random() % 3;
  for (std::size_t i = 0; i < count; ++i) {
    decisions.push_back({.position = next, .up = random() % 2 == 0});
    if (random() % 10 == 0) decisions.back() = {.position = next, .wide = true, .value = static_cast<float>(random() % 100)};
    next += 1 + random() % most_apart;
  }
  return decisions;
}

// A log that nobody can hold: every element of a huge step is decided, and segments are as long as they can be. Counts the blocks of 4 KiB that are asked for, those of one question
// once.
class Huge : public PartialLog {
 public:
  explicit Huge(std::uint64_t elements) : header_{.elements = elements, .decisions = elements} {}
  std::uint64_t size() const override {
    return LogHeader::kBytes + header_.segments() * (LogHeader::kEntryBytes + kMaxSegmentBytes);
  }
  Result<Bytes> Read(std::uint64_t begin, std::uint64_t end) override {
    const std::uint64_t first = begin / 4096, last = (end - 1) / 4096;
    if (asked_.insert({first, last}).second) blocks_ += last - first + 1;
    if (begin == 0) return header_.Encoded();
    ByteWriter out;
    if (const std::uint64_t segment = (begin - LogHeader::kBytes) / LogHeader::kEntryBytes; segment < header_.segments()) {
      out.U64((segment + 1) * kMaxSegmentBytes);
      out.U64(segment * kSegment);
    } else {
      out.Raw(Bytes(end - begin));
    }
    return out.Take();
  }
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t table_blocks() const { return header_.segments() * LogHeader::kEntryBytes / 4096 + 1; }

 private:
  LogHeader header_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> asked_;
  std::uint64_t blocks_ = 0;
};

// As job/rounded_bill.cc counts on.
TEST(FindDecision, AsksForFewBlocksOfAHugeLog) {
  std::mt19937_64 random(3);
  for (int bits = 14; bits <= 52; ++bits) {
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t elements = (std::uint64_t{1} << bits) + random() % (std::uint64_t{1} << bits);
      Huge log(elements);
      EXPECT_FALSE(FindDecision(log, elements, random() % elements)) << "segments of zeros";
      const auto depth = static_cast<std::uint64_t>(std::bit_width(log.table_blocks() - 1));
      ASSERT_LE(log.blocks(), depth + 8 + kMaxSegmentBytes / 4096 + 1) << elements;
    }
  }
}

TEST(FindDecision, DoesNotLookIntoALogThatIsTooLongForItsStep) {
  Huge log(std::uint64_t{1} << 40);
  EXPECT_FALSE(FindDecision(log, std::uint64_t{1} << 30, 5));
  EXPECT_EQ(log.blocks(), 0u);
}

TEST(FindDecision, SaysWhatTheWholeLogSays) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kSegment - 1, kSegment, kSegment + 1, 9 * kSegment + 5}) {
    const auto decisions = RandomDecisions(random, count, 7);
    const std::uint64_t elements = (decisions.empty() ? 0 : decisions.back().position) + 3;
    const Bytes bytes = EncodeDecisions(decisions, elements);
    std::vector<std::uint64_t> positions = {0, elements - 1, elements - 2};
    for (int i = 0; i < 30; ++i) positions.push_back(random() % elements);
    for (std::size_t i = 0; i < decisions.size(); i += 500) positions.push_back(decisions[i].position);
    for (const std::uint64_t position : positions) {
      Counted log(bytes);
      const auto found = FindDecision(log, elements, position);
      ASSERT_TRUE(found) << found.error().message;
      const auto at = std::ranges::lower_bound(decisions, position, {}, &Decision::position);
      const bool there = at != decisions.end() && at->position == position;
      ASSERT_EQ(found->has_value(), there) << position;
      if (there) {
        EXPECT_EQ(**found, *at);
      }
      EXPECT_LE(log.read(), LogHeader::kBytes + 20 * LogHeader::kEntryBytes + kMaxSegmentBytes);
    }
    Counted log(bytes);
    EXPECT_FALSE(FindDecision(log, elements + 1, 0)) << "a log of another step";
  }
}

// The table may say anything; where what was found holds together, it is taken.
TEST(FindDecision, SurvivesHostileLogs) {
  std::mt19937_64 random(2);
  const auto decisions = RandomDecisions(random, 3 * kSegment + 9, 3);
  const std::uint64_t elements = decisions.back().position + 1;
  const Bytes good = EncodeDecisions(decisions, elements);
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = good;
    const std::size_t among = i % 2 == 0 ? LogHeader::kBytes + 4 * LogHeader::kEntryBytes : bytes.size();
    for (std::uint64_t k = random() % 4 + 1; k > 0; --k) bytes[random() % among] = static_cast<std::uint8_t>(random());
    if (i % 5 == 0) bytes.resize(random() % bytes.size());
    Counted log(bytes);
    const auto found = FindDecision(log, elements, random() % elements);
    EXPECT_LE(log.read(), LogHeader::kBytes + 20 * LogHeader::kEntryBytes + kMaxSegmentBytes);
  }
}

TEST(FindSymbol, SaysWhatTheWholeLogSays) {
  std::mt19937_64 random(3);
  for (const std::size_t count : {std::size_t{1}, std::size_t{327680}, std::size_t{327681}, std::size_t{1000000}}) {
    std::vector<std::uint8_t> symbols(count);
    for (std::uint8_t& symbol : symbols) symbol = static_cast<std::uint8_t>(random() % 3);
    const Bytes bytes = EncodePaperLog(symbols);
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t position = i == 0 ? count - 1 : random() % count;
      Counted log(bytes);
      const auto found = FindSymbol(log, count, position);
      ASSERT_TRUE(found) << found.error().message;
      EXPECT_EQ(*found, symbols[position]);
      EXPECT_LE(log.read(), kPaperHeaderBytes + 2 * kPaperEntryBytes + kMaxPaperSegmentBytes);
    }
    Counted log(bytes);
    EXPECT_FALSE(FindSymbol(log, count + 1, 0)) << "a log of another step";
    for (int i = 0; i < 500; ++i) {
      Bytes altered = bytes;
      for (std::uint64_t k = random() % 4 + 1; k > 0; --k) {
        std::uint8_t& byte = altered[random() % (i % 2 == 0 ? std::min<std::size_t>(60, altered.size()) : altered.size())];
        byte = static_cast<std::uint8_t>(byte ^ (1 << random() % 8));
      }
      Counted hostile(altered);
      const auto found = FindSymbol(hostile, count, random() % count);
      if (found) {
        EXPECT_LE(*found, kWentUp);
      }
    }
  }
}

}  // namespace
}  // namespace assay::rounding
